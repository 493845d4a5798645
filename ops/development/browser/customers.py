"""What somebody does on a customer's page, in a walk through the pages: each action with its preview, to its end."""
from places import CUSTOMER, SHOWN, name_of
from selenium.webdriver.common.by import By

WITHDRAWAL = "form[action*='/grants/'][action$='/withdraw']"


class Customers:
    def __init__(self, walk):
        self.walk, self.driver = walk, walk.driver

    def find(self):
        """Looks for nothing and for a customer, and opens each purchase of the customer; returns their addresses."""
        walk = self.walk
        walk.go("/")
        walk.look_for("nothing-has-this-id")
        walk.judge("found-nothing")
        walk.look_for(name_of(CUSTOMER))
        walk.wait("one hit opens its page", lambda: CUSTOMER in self.driver.current_url)
        walk.judge("customer")
        links = sorted({link.get_attribute("href") for link in walk.find("main a[href*='/purchases/']")})
        if not links:
            walk.note("customer", "links to no purchase")
        for number, link in enumerate(links, 1):
            self.driver.get(link)
            for detail in walk.find("details > summary"):
                detail.click()
            walk.judge(f"purchase-{number}")
        return links

    def show(self):
        """Takes the pictures of README.md."""
        walk = self.walk
        walk.go(SHOWN)
        walk.updates.resume()
        walk.resize(1120)
        for colour in ("light", "dark"):
            walk.emulate(colour)
            walk.picture(f"console-{colour}", height=640)
        walk.updates.pause()
        walk.emulate("light")
        walk.resize(1280)

    def grant(self):
        """Grants access by hand and withdraws it; looks at each page on the way."""
        walk = self.walk
        walk.go(SHOWN)
        walk.open("Grant access by hand")
        self.fill_in_grant(-1, "too late")
        walk.wait("a day that is over is refused", lambda: "Not done." in self.driver.page_source)
        walk.judge("grant-refused")
        self.fill_in_grant(40, "sorry for <u>Friday</u>")
        walk.preview("Grant access?", "grant-preview")
        walk.confirm("the grant is given", lambda: walk.is_at(SHOWN))
        if "sorry for <u>Friday</u>" not in walk.text():
            walk.note("grant", "is not shown with its note")
        walk.judge("granted")
        walk.press(f"{WITHDRAWAL} button")
        walk.preview("Withdraw the grant?", "withdrawal-preview")
        walk.confirm("the grant is withdrawn", lambda: walk.is_at(SHOWN))
        if walk.find(WITHDRAWAL):
            walk.note("grant", "can be withdrawn twice")

    def fill_in_grant(self, days, note):
        self.walk.choose_day("until", days)
        self.walk.fill("note", note)
        self.walk.press("form[action$='/grants'] button")

    def sandbox(self):
        """Gives the customer who is shown sandbox access, and withdraws it; looks at the export's preview."""
        walk = self.walk
        walk.go(SHOWN)
        walk.open("Sandbox access until")
        walk.choose_day("sandbox-until", 5)
        walk.fill("sandbox-note", "tries <u>Friday</u>")
        walk.press("form[action$='/sandbox'] button")
        walk.preview("Give sandbox access?", "sandbox-preview")
        walk.confirm("sandbox access is given", lambda: walk.is_at(SHOWN))
        if "tries <u>Friday</u>" not in walk.text():
            walk.note("sandbox", "is not shown with its note")
        walk.judge("sandbox-given")
        walk.begin(SHOWN, "sandbox/withdraw", "Withdraw the sandbox access?", "sandbox-withdrawal-preview")
        walk.confirm("sandbox access is withdrawn", lambda: walk.is_at(SHOWN))
        if walk.find("form[action$='/sandbox/withdraw']"):
            walk.note("sandbox", "can be withdrawn twice")
        walk.begin(SHOWN, "export", "Export the customer?")

    def write(self):
        """Writes a note about the customer who is shown."""
        walk = self.walk
        walk.go(SHOWN)
        walk.open("Write a note")
        walk.fill("text", "called twice\nabout <u>Friday</u>")
        walk.press("form[action$='/notes'] button")
        walk.preview("Keep the note?", "note-preview")
        walk.confirm("the note is kept", lambda: walk.is_at(SHOWN))
        if "about <u>Friday</u>" not in walk.text():
            walk.note("note", "is not shown in the timeline")
        walk.judge("noted")

    def erase(self):
        """Releases a purchase of the customer who is shown, and erases the customer."""
        walk = self.walk
        walk.go(SHOWN)
        walk.press("main a[href*='/purchases/']")
        walk.press("form[action$='/release'] button")
        walk.preview("Release the purchase?", "release-preview")
        walk.confirm("the purchase is released",
                     lambda: "nobody" in self.driver.find_element(By.TAG_NAME, "dl").text)
        walk.begin(SHOWN, "erase", "Erase the customer?")
        walk.fill("customerId", "another")
        walk.confirm("another id is refused", lambda: "Not done." in self.driver.page_source)
        walk.judge("erasure-refused")
        walk.fill("customerId", name_of(SHOWN))
        walk.confirm("the customer is erased", lambda: "Erased" in self.driver.title)
        walk.judge("erased")
        walk.go("/customers/1001/nobody-has-this-id")
        walk.judge("no-customer")
