"""A person at the console, as a browser would ask."""
import urllib.parse

from fleet import Failure
from fleet.requests import exchange


def check_console(address, name, password, publisher, customer):
    """Signs in to the console, and looks at a customer who has bought something."""
    form = urllib.parse.urlencode({"name": name, "password": password, "next": ""})
    signed_in, reason, headers = exchange(address, "POST", "/sign-in", form, {"Origin": f"http://{address}"})
    cookie = headers.get("Set-Cookie", "").partition(";")[0]
    status, text, _ = exchange(address, "GET", f"/customers/{publisher}/{customer}", headers={"Cookie": cookie})
    if 0 in (signed_in, status):
        raise Failure(f"the console at {address} did not answer: {text if signed_in else reason}")
    if (signed_in, status) != (303, 200) or "Has access" not in text:
        raise Failure(f"the console answered {signed_in} to the sign-in, and {status} for the customer, "
                      "without \"Has access\"")
