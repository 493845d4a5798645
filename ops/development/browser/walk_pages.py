"""Walks the pages of a console with Chromium, and judges each of them.

    walk_pages.py FOLDER

FOLDER gets pictures and the pages' HTML. CONSOLE_URL, CONSOLE_USER, CONSOLE_PASSWORD, CONSOLE_VIEWER, CONSOLE_OTHER,
CUSTOMER_PATH, SHOWN_PATH, PLAYED_PATH, ENDPOINT_PATH, ASKED_PATH and REFUND_OF_ASKED say where, as whom, and whose
pages. Each mistake is a line on standard error.
"""
import json
import pathlib
import sys

from customers import Customers
from places import SHOWN, USER, name_of
from purchases import Purchases
from strangers import Strangers
from traffic import Traffic
from walk import Walk, browser


def go_everywhere(walk):
    """Sees every page and takes every action to its end; then who may not."""
    customers, purchases, traffic, strangers = Customers(walk), Purchases(walk), Traffic(walk), Strangers(walk)
    walk.sign_in(USER)
    walk.judge("find")
    # The rest of the walk has them paused: no region goes while it is looked at.
    walk.updates.look(SHOWN)
    links = customers.find()
    if links:
        purchases.order_of_two(name_of(links[0]))
    customers.show()
    customers.grant()
    customers.sandbox()
    traffic.lists("at-first")
    traffic.look()
    traffic.test_notification()
    traffic.endpoint()
    purchases.transfer()
    purchases.check()
    customers.write()
    purchases.play()
    customers.erase()
    traffic.lists("after-a-release")
    walk.sign_out()
    strangers.look_as_viewer()
    traffic.lists("for-a-viewer")
    walk.sign_out()
    strangers.look_as_another_publisher()


def main():
    folder = pathlib.Path(sys.argv[1])
    driver = browser()
    walk = Walk(driver, folder)
    try:
        go_everywhere(walk)
    finally:
        driver.quit()
    print(json.dumps({"pages": len(list(folder.glob("*.html"))), "pictures": len(list(folder.glob("*.png")))}))
    for mistake in walk.mistakes:
        print(mistake, file=sys.stderr)
    return 1 if walk.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
