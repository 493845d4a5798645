"""Compares docs/reference/asyncapi.yaml with itself and with the list of topics. It needs no server and no library."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
REFERENCE = ROOT / "docs" / "reference"

KEY = re.compile(r"^( *)(?:- )?([\w$-]+):(.*)$")
# The exchange of one subscriber. Its events are those of all other channels.
SUBSCRIBER = "subscriberEvents"


def paths(text):
    """The paths of the file's block keys, as `/channels/results`, each with the text behind the colon."""
    found, stack, block = {}, [], None
    for line in text.splitlines():
        indentation = len(line) - len(line.lstrip())
        if not line.strip() or line.lstrip().startswith("#") or (block is not None and indentation > block):
            continue
        block = None
        match = KEY.match(line)
        if not match:
            continue
        key, value = match[2], match[3].strip()
        while stack and stack[-1][0] >= indentation:
            stack.pop()
        stack.append((indentation, key))
        found["/" + "/".join(name for _, name in stack)] = value
        if value in ("|", ">", "|-", ">-"):
            block = indentation
    return found


def below(found, path):
    """The names of the keys directly below a path."""
    return {name[len(path) + 1:] for name in found if name.startswith(path + "/") and "/" not in name[len(path) + 1:]}


class AsyncAPI(unittest.TestCase):
    def setUp(self):
        self.text = (REFERENCE / "asyncapi.yaml").read_text()
        self.paths = paths(self.text)
        self.channels = below(self.paths, "/channels")

    def test_every_reference_leads_somewhere(self):
        targets = set(re.findall(r'\$ref: "#(/[^"]+)"', self.text))
        self.assertGreater(len(targets), 20)
        self.assertEqual(sorted(targets - set(self.paths)), [])

    def test_each_parameter_of_an_address_is_described(self):
        for channel in self.channels:
            with self.subTest(channel):
                address = self.paths[f"/channels/{channel}/address"]
                asked = set(re.findall(r"{(\w+)}", address))
                self.assertEqual(asked, below(self.paths, f"/channels/{channel}/parameters"))
                self.assertTrue(asked)

    def test_each_channel_is_published_to(self):
        told = re.findall(r'channel: {\$ref: "#/channels/(\w+)"}', self.text)
        self.assertEqual(sorted(told), sorted(self.channels))

    def test_a_subscriber_has_every_event(self):
        def messages(channel):
            return below(self.paths, f"/channels/{channel}/messages")
        everything = set().union(*(messages(channel) for channel in self.channels - {SUBSCRIBER}))
        self.assertEqual(messages(SUBSCRIBER), everything)
        self.assertEqual(everything, below(self.paths, "/components/messages"))

    def test_every_topic_of_the_list_has_a_channel(self):
        table = [line.split("|")[1] for line in (REFERENCE / "events.md").read_text().splitlines()
                 if line.startswith("| `") and "publisherId>` |" in line]
        listed = {topic for cell in table for topic in re.findall(r"`([^`]+)`", cell)}
        addresses = {self.paths[f"/channels/{channel}/address"] for channel in self.channels - {SUBSCRIBER}}
        topics = {address.removesuffix(".{publisherId}") for address in addresses}
        # One channel names its topics in an enumeration.
        topics.remove('"{topic}.{publisherId}"')
        topics.update(re.search(r"enum: \[([^\]]+)\]", self.text)[1].split(", "))
        self.assertEqual(listed, topics)


if __name__ == "__main__":
    unittest.main()
