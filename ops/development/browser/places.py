"""Where the console of a walk is, who walks, and whose pages: from the variables that walk_pages.py names."""
import json
import os

URL, USER, PASSWORD, VIEWER, OTHER, CUSTOMER, SHOWN, PLAYED, ENDPOINT, ASKED = (os.environ[name] for name in (
    "CONSOLE_URL", "CONSOLE_USER", "CONSOLE_PASSWORD", "CONSOLE_VIEWER", "CONSOLE_OTHER", "CUSTOMER_PATH", "SHOWN_PATH",
    "PLAYED_PATH", "ENDPOINT_PATH", "ASKED_PATH"))
# The command that lets Apple refund the purchase of ASKED, without a notification.
REFUND_OF_ASKED = json.loads(os.environ["REFUND_OF_ASKED"])


def name_of(page):
    """What the address of a page names at its end."""
    return page.rpartition("/")[2]
