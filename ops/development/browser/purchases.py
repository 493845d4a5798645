"""What somebody does with a purchase, in a walk through the pages: looks for an order, transfers, asks Apple, plays."""
import subprocess

from places import ASKED, CUSTOMER, PLAYED, REFUND_OF_ASKED, SHOWN, URL, name_of
from selenium.webdriver.common.by import By


class Purchases:
    def __init__(self, walk):
        self.walk, self.driver = walk, walk.driver

    # Orders

    def find_order(self, order, what, condition):
        """Looks for an order id, and asks Apple about it."""
        self.walk.go("/")
        self.walk.look_for(order)
        self.walk.wait("nothing is found", lambda: "Ask Apple" in self.driver.page_source)
        self.walk.judge("ask-apple")
        self.walk.press("form[action$='/orders'] button")
        self.walk.wait(what, condition)

    def order_of_two(self, transaction):
        """Asks Apple about an order of two transactions, of which one is not known here; opens the one that is."""
        walk = self.walk
        self.find_order(f"M{transaction}M1000000000000999", "Apple answers",
                        lambda: "1000000000000999" in walk.text())
        walk.judge("order")
        if not walk.find("main a[href*='/purchases/']"):
            return walk.note("order", "does not lead to the purchase that is known")
        walk.press(f"main a[href$='/{transaction}']")
        walk.wait("the order's purchase opens", lambda: self.driver.title.startswith(f"Purchase {transaction}"))

    # Transfers

    def transfer(self):
        """Gives a purchase to another customer and back."""
        walk = self.walk
        walk.go(SHOWN)
        # The one that gives access: only such a purchase moves.
        good = [link for link in walk.find("main td a[href*='/purchases/']")
                if link.find_elements(By.XPATH, "./ancestor::tr//span[contains(@class, 'good')]")]
        if not good:
            return walk.note("transfer", "finds no purchase that gives access")
        purchase = good[0].get_attribute("href").removeprefix(URL)
        walk.begin(purchase, "transfer", "Transfer the purchase", "transfer-question")
        self.give("nobody-has-this-id")
        walk.wait("an unknown customer is refused", lambda: "Not done." in self.driver.page_source)
        walk.judge("transfer-refused")
        for name in (name_of(CUSTOMER), name_of(SHOWN)):
            walk.begin(purchase, "transfer", "Transfer the purchase", judges=False)
            self.give(name)
            walk.preview("Transfer the purchase?", f"transfer-preview-{name}")
            walk.confirm("the purchase is transferred", lambda: walk.is_at(purchase))
            if name not in self.driver.find_element(By.TAG_NAME, "dl").text:
                walk.note("transfer", f"has not given the purchase to {name}")
        walk.judge("transferred")

    def give(self, customer):
        self.walk.fill("to", customer)
        self.walk.press("form.confirm button")

    # Asking Apple

    def check(self):
        """Asks Apple about a purchase that was refunded without a notification, and lets a worker apply it."""
        walk = self.walk
        # Not earlier: Notification History tells of the refund, too.
        subprocess.run(REFUND_OF_ASKED, check=True, capture_output=True)
        walk.begin(ASKED, "check", "Ask Apple?")
        walk.confirm("Apple says something else", lambda: "As Apple says" in self.driver.page_source)
        walk.judge("apple-says-something-else")
        walk.confirm("the purchase opens", lambda: walk.is_at(ASKED))
        walk.wait("a worker has applied it", lambda: walk.seen("Gives no access"))
        walk.begin(ASKED, "check", "Ask Apple?", judges=False)
        walk.confirm("Apple says the same", lambda: "Apple says the same" in self.driver.page_source)
        walk.judge("apple-says-the-same")

    # A life: bought, found by its order, explained, and refunded

    def play(self):
        """Plays a life in the simulator for a customer who has nothing else, from the purchase to the refund."""
        walk = self.walk
        walk.go("/play")
        walk.judge("play")
        walk.fill("customer", name_of(PLAYED))
        walk.press("form[action$='/play/start'] button")
        walk.wait("the life begins", lambda: "/play/1001/" in self.driver.current_url)
        life = self.driver.current_url.removeprefix(URL)
        walk.updates.resume()
        walk.updates.shows("Give it to")
        walk.updates.pause()
        walk.judge("life-of-nobody")
        walk.press("form[action$='/transfer'] button")
        walk.preview("Transfer the purchase?", None)
        walk.confirm("the purchase opens", lambda: "/purchases/" in self.driver.current_url)
        purchase = self.driver.current_url.removeprefix(URL)
        # The customer has nothing but the receipt.
        self.find_order(f"M{name_of(purchase)}", "the only purchase of the order opens", lambda: walk.is_at(purchase))
        walk.press("#live-verdict dl a[href*='/customers/']")
        walk.wait("the owner's page opens", lambda: walk.is_at(PLAYED))
        self.explains("Has access", "The period of the subscription is paid and not over.")
        walk.judge("customer-with-access")
        walk.go(life)
        walk.press("form[action$='/fail'] button")
        walk.wait("the renewal fails", lambda: "in its grace period" in self.driver.page_source)
        walk.go(life)
        walk.judge("life-in-grace")
        walk.press("form[action$='/refund'] button")
        walk.wait("the life is refunded", lambda: "At Apple: refunded" in self.driver.page_source)
        walk.go(life)
        walk.judge("life-refunded")
        self.explains("No access", "Apple refunded the purchase")
        walk.judge("customer-after-a-refund")

    def explains(self, access, why):
        """Waits until the page of the customer with the life says what the customer has, and why."""
        walk = self.walk
        walk.go(PLAYED)
        walk.wait(f"the customer's page says {access}: {why}", lambda: self.verdict(access, why))
        if not walk.find("#live-access dl a[href*='/purchases/']"):
            walk.note("customer", f"has no link to the purchase that decides: {access}")

    def verdict(self, *words):
        """Loads a customer's page again; says whether its verdict has the words."""
        self.driver.refresh()
        verdict = self.driver.find_element(By.ID, "live-access").text
        return all(one in verdict for one in words)
