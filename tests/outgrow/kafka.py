"""Three nodes of Apache Kafka, each broker and controller, that can be killed and started again.

`KAFKA_RUN` is a command that runs a class out of Kafka's jars, such as Kafka's own bin/kafka-run-class.sh.
"""

import base64
import os
import shlex
import uuid

from processes import Failed, Program, free_ports, run, tail, wait_for

NODES = (1, 2, 3)
USER, PASSWORD = "relay", "outgrown-password"

# Every record on two of three nodes before it counts: one may be away at any time.
SETTINGS = """\
process.roles=broker,controller
num.partitions=6
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
offsets.topic.num.partitions=5
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
controller.listener.names=CONTROLLER
inter.broker.listener.name=INTERNAL
controlled.shutdown.enable=true
"""

PLAIN = "listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENTS:PLAINTEXT\n"

SECURED = """\
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENTS:SASL_SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.clients.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
connections.max.reauth.ms=10000
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
"""


class Cluster:
    """Kafka, with its data under `folder`."""

    def __init__(self, folder, secured):
        self.command = shlex.split(os.environ["KAFKA_RUN"])
        self.folder, self.secured = folder, secured
        ports = free_ports(9)
        self.ports, internal, controllers = ports[:3], ports[3:6], ports[6:]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.programs = {}
        if secured:
            make_certificates(folder)
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in zip(NODES, controllers))
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
        for node in NODES:
            at = node - 1
            listeners = (f"CLIENTS://127.0.0.1:{ports[at]},INTERNAL://127.0.0.1:{internal[at]},"
                         f"CONTROLLER://127.0.0.1:{controllers[at]}")
            properties = (SETTINGS + (SECURED.format(folder=folder) if secured else PLAIN)
                          + f"node.id={node}\ncontroller.quorum.voters={voters}\nlisteners={listeners}\n"
                          + f"advertised.listeners={listeners}\nlog.dirs={folder}/node{node}\n")
            with open(self.properties(node), "w", encoding="utf-8") as file:
                file.write(properties)
            scram = ["--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"] if secured else []
            run([*self.command, "kafka.tools.StorageTool", "format", "-t", cluster,
                 "-c", self.properties(node), *scram])

    def properties(self, node):
        return f"{self.folder}/node{node}.properties"

    def start(self, node):
        heap = {"KAFKA_HEAP_OPTS": os.environ.get("KAFKA_HEAP_OPTS", "-Xmx512M -Xms512M")}
        command = [*self.command, "kafka.Kafka", self.properties(node)]
        self.programs[node] = Program(f"kafka node {node}", command, f"{self.folder}/node{node}.log", heap)

    def start_all(self):
        for node in NODES:
            self.start(node)

    def kill(self, node):
        self.programs.pop(node).kill()

    def stop_all(self):
        """However it goes: a lone survivor of three would wait for a controller."""
        for program in self.programs.values():
            program.kill()
        self.programs.clear()

    def environment(self):
        """What clients need beside the address; the connector and the tools read the same names."""
        if not self.secured:
            return {}
        return {
            "PILLION_SECURITY_PROTOCOL": "SASL_SSL",
            "PILLION_SSL_CA_LOCATION": f"{self.folder}/ca.pem",
            "PILLION_SASL_MECHANISM": "SCRAM-SHA-512",
            "PILLION_SASL_USERNAME": USER,
            "PILLION_SASL_PASSWORD": PASSWORD,
        }

    def wait(self, is_up):
        """Waits until all three answer; `is_up(address)` asks one."""
        def all_up():
            for node, program in self.programs.items():
                if not program.is_alive():
                    raise Failed(f"kafka node {node} ended: {tail(program.log)}")
            return all(is_up(f"127.0.0.1:{port}") for port in self.ports)
        wait_for("three nodes that answer", all_up, 240, 1)


def make_certificates(folder):
    """An authority, and a broker's key with its certificate in one PEM file."""
    openssl = lambda *arguments: run(["openssl", *arguments])
    new = ["-newkey", "rsa:2048", "-nodes"]
    openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=authority",
            "-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.pem")
    openssl("req", *new, "-subj", "/CN=broker", "-keyout", f"{folder}/broker.key", "-out", f"{folder}/broker.csr")
    with open(f"{folder}/names", "w", encoding="utf-8") as names:
        names.write("subjectAltName=IP:127.0.0.1")
    openssl("x509", "-req", "-in", f"{folder}/broker.csr", "-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", f"{folder}/names", "-out", f"{folder}/broker.crt")
    with open(f"{folder}/broker.pem", "w", encoding="utf-8") as pem:
        for part in ("broker.key", "broker.crt"):
            with open(f"{folder}/{part}", encoding="utf-8") as file:
                pem.write(file.read())
