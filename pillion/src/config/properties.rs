//! Java properties files: `key=value` or `key: value` a line; a backslash at the end of a line goes on in the next one.

/// Keys and values, in the order of the file; of a key that is there twice, both.
pub(crate) fn properties(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?.trim();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let Some((key, value)) = line.split_once(['=', ':']) else { continue };
            let mut value = value.trim().to_owned();
            while let Some(begun) = value.strip_suffix('\\') {
                value = format!("{begun}{}", lines.next().unwrap_or_default().trim());
            }
            return Some((key.trim(), value));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_as_java_writes_them() {
        let text = "# comment\n\n security.protocol = SASL_SSL\r\nsasl.username: me\n! more\nnonsense\n\
                    sasl.jaas.config=a.PlainLoginModule required \\\n   username=\"u\" \\\n password=\"p=q\";\n";
        let read: Vec<_> = properties(text).collect();
        let expected = [
            ("security.protocol", "SASL_SSL"),
            ("sasl.username", "me"),
            ("sasl.jaas.config", "a.PlainLoginModule required username=\"u\" password=\"p=q\";"),
        ];
        assert_eq!(read, expected.map(|(key, value)| (key, value.to_owned())));
    }
}
