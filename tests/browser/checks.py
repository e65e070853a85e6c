"""The checks. Each gets a browser of its own."""

import asyncio
import json

from chromium import until
from pillion import Pillion

HOSTILE = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script>"
VIEWS = ["#/", "#/topics", "#/groups", "#/connectors", "#/broker"]


async def sound(browser, base):
    """Nothing was run that is not the page's own, nothing asked of anybody else."""
    assert await browser.evaluate("window.hurt ?? null") is None, "hostile text was run"
    assert await browser.evaluate("document.querySelectorAll('main img, main script, main iframe').length") == 0
    assert await browser.evaluate("window.violations") == []
    asked = [url for url in browser.requests if not url.startswith((base, "about:", "data:"))]
    assert asked == [], f"asked elsewhere: {asked}"


async def shown(browser, url, text=None):
    """A view is there, without a refusal, and says what it should."""
    await browser.open(url)
    if text is not None:
        await browser.wait(f"document.querySelector('main').innerText.includes({json.dumps(text)})", f"{text!r} in {url}")
    refusal = await browser.evaluate("document.querySelector('.refusal')?.textContent ?? null")
    assert refusal is None, f"{url}: {refusal}"


async def picture(browser, pictures, name):
    if pictures:
        await browser.picture(pictures / f"{name}.png")


async def check_a_broker_without_anything_explains_every_view(browser, program, pictures):
    async with Pillion(program) as pillion:
        for view in VIEWS:
            await shown(browser, pillion.url + "/" + view)
            blank = await browser.evaluate("[...document.querySelectorAll('main .empty')].filter((one) => one.offsetParent && one.textContent.trim().length < 20).length")
            assert blank == 0, f"{view} leaves something blank"
            if view in ["#/topics", "#/groups", "#/connectors"]:
                assert await browser.evaluate("[...document.querySelectorAll('main .empty')].some((one) => one.offsetParent)"), view
            await picture(browser, pictures, f"empty-{view.strip('#/') or 'overview'}")
        await browser.open(pillion.url + "/#/no/such/view")
        assert await browser.evaluate("document.querySelector('h1').textContent") == "There is no such view"
        await browser.open(pillion.url + "/#/topic/missing")
        await browser.wait("document.querySelector('.refusal')?.textContent.includes('no topic')")
        await sound(browser, pillion.url)
        # The browser tells of an answer that says "not found"; so it should.
        browser.errors.clear()


async def check_every_view_on_real_data(browser, program, pictures):
    trace = "--set", "ui.trace.url=http://localhost:16686/trace/{traceId}"
    async with Pillion(program, "dev", *trace) as pillion:
        await pillion.insert([json.dumps({"total": 100 + number, "items": ["book", "pen"]}) for number in range(40)])
        pillion.run("topic", "create", "payments", "--partitions", "3")
        lines = "".join(f'{{"amount": {number}, "currency": "EUR"}}\n' for number in range(200))
        pillion.run("produce", "payments", "--header", "traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", given=lines)
        pillion.run("consume", "payments", "--group", "billing", "-n", "150")
        await shown(browser, pillion.url + "/#/", "billing")
        await browser.wait("document.querySelector('#ready').dataset.state === 'yes'")
        await picture(browser, pictures, "overview")
        await shown(browser, pillion.url + "/#/topics", "payments")
        await picture(browser, pictures, "topics")
        await shown(browser, pillion.url + "/#/topic/payments", "retention.ms")
        await picture(browser, pictures, "topic")
        await shown(browser, pillion.url + "/#/topic/payments/messages?value=amount%22:%20199", "1 shown")
        await picture(browser, pictures, "messages")
        target = await browser.evaluate("document.querySelector('a[href*=\"16686\"]').href")
        assert target == "http://localhost:16686/trace/4bf92f3577b34da6a3ce929d0e0e4736", target
        await browser.evaluate("document.querySelector('tbody a').click()")
        await browser.wait("document.querySelector('main').innerText.includes('\"currency\": \"EUR\"')")
        await picture(browser, pictures, "message")
        await shown(browser, pillion.url + "/#/groups", "billing")
        await picture(browser, pictures, "groups")
        await shown(browser, pillion.url + "/#/group/billing", "payments")
        await picture(browser, pictures, "group")
        await shown(browser, pillion.url + "/#/connectors", "streaming")
        await picture(browser, pictures, "connectors")
        await shown(browser, pillion.url + "/#/connector/default", "public.outbox")
        await browser.wait("document.querySelector('main').innerText.includes('40')")
        await picture(browser, pictures, "connector")
        await shown(browser, pillion.url + "/#/broker", "num.partitions")
        await picture(browser, pictures, "broker")
        await browser.colours("dark")
        for view in ["", "topic/payments/messages", "connector/default"]:
            await shown(browser, f"{pillion.url}/#/{view}")
            await picture(browser, pictures, "dark-" + (view.replace("/", "-") or "overview"))
        await sound(browser, pillion.url)


async def check_hostile_text_stays_text(browser, program, pictures):
    async with Pillion(program) as pillion:
        pillion.run("topic", "create", "hostile", "--partitions", "1")
        record = f"{HOSTILE}\t{{\"{HOSTILE.replace(chr(34), chr(39))}\": 1}}\n{HOSTILE}\t{HOSTILE}\n"
        pillion.run("produce", "hostile", "--key-separator", "\t", "--header", f"{HOSTILE.replace('=', ' ')}={HOSTILE}", given=record)
        pillion.run("consume", "hostile", "--group", HOSTILE, "-n", "1")
        for view in ["", "topic/hostile/messages", "topic/hostile/message/0/0", "topic/hostile/message/0/1", "groups"]:
            await shown(browser, f"{pillion.url}/#/{view}", "onerror")
            await sound(browser, pillion.url)
        await picture(browser, pictures, "hostile")
        await browser.evaluate("document.querySelector('tbody a').click()")
        await browser.wait("document.querySelector('h1')?.textContent.includes('onerror')")
        await sound(browser, pillion.url)
        escaped = await browser.evaluate(f"encodeURIComponent({json.dumps(HOSTILE)})")
        await browser.open(f"{pillion.url}/#/topic/{escaped}")
        await browser.open(f"{pillion.url}/#/topics?search={escaped}")
        await sound(browser, pillion.url)
        browser.errors.clear()


async def check_a_thousand_topics(browser, program, pictures):
    async with Pillion(program) as pillion:
        # The last one is there when all are.
        for hundred in range(10):
            pillion.run("topic", "create", *[f"topic-{hundred}{number:02}" for number in range(100)], "--partitions", "1")
        await shown(browser, pillion.url + "/#/topics", "1,000 topics")
        assert await browser.evaluate("document.querySelectorAll('tbody tr').length") == 100
        await picture(browser, pictures, "thousand")
        await browser.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Next').click()")
        await browser.wait("document.querySelector('tbody tr').innerText.startsWith('topic-100')")
        await browser.press("/")
        await browser.wait("document.activeElement.type === 'search'")
        for key in "-999":
            await browser.press(key)
        await browser.wait("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('topic-999')")
        assert "search=-999" in await browser.evaluate("location.hash")
        await sound(browser, pillion.url)


async def check_a_narrow_screen_scrolls_in_one_direction(browser, program, pictures):
    async with Pillion(program) as pillion:
        name = "a.rather.long.topic.name-with-hyphens_and_underscores.for.a.small.screen"
        pillion.run("topic", "create", name, "--partitions", "2")
        pillion.run("produce", name, given="x" * 3000 + "\n")
        pillion.run("consume", name, "--group", name, "-n", "1")
        await browser.size(360, 740)
        for view in VIEWS + [f"#/topic/{name}", f"#/topic/{name}/messages", f"#/group/{name}"]:
            await shown(browser, pillion.url + "/" + view)
            width = await browser.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, f"{view} is {width} wide"
            await picture(browser, pictures, "narrow-" + (view.strip("#/").replace("/", "-").replace(name, "name") or "overview"))


async def check_the_keyboard_reaches_everything(browser, program, pictures):
    async with Pillion(program) as pillion:
        await shown(browser, pillion.url + "/#/")
        for key, title in [("t", "Topics"), ("g", "Groups"), ("c", "Outbox"), ("b", "Broker"), ("o", "Overview")]:
            await browser.press(key)
            await browser.wait(f"document.title === '{title} · pillion'")
        await browser.press("?")
        await browser.wait("document.querySelector('#keys').open")
        await browser.evaluate("document.querySelector('#keys').close()")
        await browser.press("/")
        await browser.wait("document.title.startsWith('Topics') && document.activeElement.type === 'search'")
        await browser.press("t")
        assert await browser.evaluate("document.activeElement.value") == "t", "a letter in a field is a letter"
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert await browser.evaluate(outline) != "none", "whoever has the focus shows it"


async def check_what_is_live_is_not_made_anew(browser, program, pictures):
    async with Pillion(program) as pillion:
        pillion.run("topic", "create", "live", "--partitions", "1")
        await shown(browser, pillion.url + "/#/topics", "live")
        await browser.evaluate("window.row = document.querySelector('tbody tr')")
        pillion.run("produce", "live", given="one\ntwo\n")
        await browser.wait("document.querySelector('tbody tr').cells[2].textContent === '2'")
        assert await browser.evaluate("window.row === document.querySelector('tbody tr')")
        await shown(browser, pillion.url + "/#/topic/live/messages?live=1", "two")
        await browser.evaluate("window.row = document.querySelector('tbody tr')")
        pillion.run("produce", "live", given="three\n")
        await browser.wait("document.querySelector('tbody').innerText.includes('three')")
        assert await browser.evaluate("[...document.querySelectorAll('tbody tr')].includes(window.row)")


async def check_a_message_is_produced_only_where_it_is_allowed(browser, program, pictures):
    async with Pillion(program) as pillion:
        pillion.run("topic", "create", "orders", "--partitions", "1")
        await shown(browser, pillion.url + "/#/topic/orders/messages", "read-only")
        status = await browser.evaluate("fetch('api/messages', {method: 'POST', headers: {'content-type': 'application/json', 'x-pillion-console': '1'}, body: '{\"topic\":\"orders\"}'}).then((answer) => answer.status)")
        assert status == 403, status
        browser.errors.clear()
    async with Pillion(program, "broker", "--set", "ui.allow.writes=true") as pillion:
        pillion.run("topic", "create", "orders", "--partitions", "1")
        await shown(browser, pillion.url + "/#/topic/orders/messages")
        await browser.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Produce a message').click()")
        await browser.wait("document.querySelector('main dialog').open")
        await browser.evaluate("document.querySelector('main dialog textarea').value = '{\"by\": \"hand\"}'")
        await picture(browser, pictures, "produce")
        await browser.evaluate("document.querySelector('main dialog form').requestSubmit()")
        await browser.wait("document.querySelector('main dialog').innerText.includes('offset 0')")
        await browser.wait("document.querySelector('main tbody').textContent.includes('by')")


async def check_a_dead_letter_is_replayed_where_it_is_allowed(browser, program, pictures):
    arguments = "--set", "ui.allow.writes=true", "--set", "on.error=dead-letter", "--set", "route.by.field=type"
    async with Pillion(program, "dev", *arguments) as pillion:
        # No topic can be called that.
        await pillion.insert(["{}"], event="bad name/")
        await shown(browser, pillion.url + "/#/connector/default", "bad name/")
        await picture(browser, pictures, "dead-letters")
        await browser.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Replay').click()")
        await browser.wait("document.querySelector('main').innerText.includes('written to public.outbox again')")


async def check_a_pillion_that_stops_answering_is_said_so(browser, program, pictures):
    async with Pillion(program) as pillion:
        await shown(browser, pillion.url + "/#/")
    await browser.wait("!document.querySelector('#lost').hidden")
    await picture(browser, pictures, "lost")
    browser.errors.clear()


async def check_the_first_paint(browser, program, pictures):
    """Prints how long it took; a machine under load is not to fail for it."""
    async with Pillion(program) as pillion:
        await shown(browser, pillion.url + "/#/")
        await until("a paint", lambda: browser.evaluate("performance.getEntriesByName('first-contentful-paint').length > 0"))
        painted = await browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        bytes_ = await browser.evaluate("performance.getEntriesByType('resource').filter((one) => !one.name.includes('/api/')).reduce((sum, one) => sum + one.encodedBodySize, 0)")
        print(f"        first contentful paint after {painted:.0f} ms, {bytes_} bytes of files", flush=True)
        assert bytes_ < 150_000
