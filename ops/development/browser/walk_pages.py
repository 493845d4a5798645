"""Walks the pages of a console with Chromium, and judges each of them.

    walk_pages.py FOLDER

FOLDER gets pictures and the pages' HTML. CONSOLE_URL, CONSOLE_USER, CONSOLE_PASSWORD, CONSOLE_VIEWER, CUSTOMER_PATH,
SHOWN_PATH, ENDPOINT_PATH and ASKED_PATH say where, as whom, and whose pages. Each mistake is a line on standard error.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

import axe_playwright_python
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from updates import Updates

URL, USER, PASSWORD, VIEWER, CUSTOMER, SHOWN, ENDPOINT, ASKED = (os.environ[name] for name in (
    "CONSOLE_URL", "CONSOLE_USER", "CONSOLE_PASSWORD", "CONSOLE_VIEWER", "CUSTOMER_PATH", "SHOWN_PATH",
    "ENDPOINT_PATH", "ASKED_PATH"))
AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# The widths from a small telephone to a large screen.
WIDTHS = (360, 1280, 2560)
# Serious enough to keep somebody from using a page.
IMPACTS = ("serious", "critical")
SECONDS = 60


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    # Chromium's own sandbox does not start for root, as in a container. It only sees this machine's console.
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-proxy-server",
                 "--hide-scrollbars", "--force-device-scale-factor=1"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))


class Walk:
    def __init__(self, driver, folder):
        self.driver, self.folder = driver, folder
        self.mistakes = []
        self.updates = Updates(self)

    def go(self, path):
        self.driver.get(URL + path)

    def wait(self, what, condition):
        # A condition may look at the page that goes while it looks.
        WebDriverWait(self.driver, SECONDS, ignored_exceptions=[StaleElementReferenceException]).until(
            lambda _: condition(), what)

    def sign_in(self, name):
        self.go("/sign-in")
        self.judge("sign-in")
        self.fill_in_sign_in(name)

    def fill_in_sign_in(self, name=USER):
        self.driver.find_element(By.NAME, "name").send_keys(name)
        self.driver.find_element(By.NAME, "password").send_keys(PASSWORD)
        self.driver.find_element(By.CSS_SELECTOR, "form button").click()
        self.wait("the sign-in ends", lambda: "/sign-in" not in self.driver.current_url)

    def look_for(self, text):
        field = self.driver.find_element(By.NAME, "q")
        field.clear()
        field.send_keys(text)
        field.submit()

    def judge(self, name):
        """Notes what is wrong with the page that is open, in both colours and at each width; takes its pictures."""
        (self.folder / f"{name}.html").write_text(self.source())
        for colour in ("light", "dark"):
            self.emulate(colour)
            for width in WIDTHS:
                self.resize(width)
                over = self.driver.execute_script(
                    "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
                if over > 0:
                    self.note(name, f"is {over} pixels wider than a window of {width}")
                if width == 2560:
                    continue
                self.picture(f"{name}-{colour}-{width}")
                self.driver.execute_script(AXE)
                found = self.driver.execute_async_script(
                    "const done = arguments[arguments.length - 1];"
                    "axe.run().then(done, error => done({error: `${error}`}))")
                if "error" in found:
                    self.note(name, f"axe-core failed: {found['error']}")
                for violation in found.get("violations", []):
                    if violation["impact"] in IMPACTS:
                        places = [node["html"][:200] for node in violation["nodes"][:3]]
                        self.note(name, f"{colour}, {width}: {violation['id']}: {violation['help']}: {places}")
        self.emulate("light")
        self.resize(1280)
        for entry in self.driver.get_log("browser"):
            # A page that says 403 or 404 is a page all the same.
            if not entry["message"].startswith(f"{self.driver.current_url} - Failed to load resource"):
                self.note(name, f"the browser says: {entry['message']}")

    def source(self):
        """The page as the console sends it: what the browser makes of it has no mistakes left."""
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.driver.get_cookies())
        request = urllib.request.Request(self.driver.current_url, headers={"Cookie": cookies})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as refusal:
            if refusal.code != 405:
                return refusal.read().decode()
            # Only a form leads to this page. What the browser has made of it is all there is.
            return "<!DOCTYPE html>\n" + self.driver.page_source

    def note(self, name, mistake):
        self.mistakes.append(f"{name}: {mistake}")

    def emulate(self, colour):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colour}]})

    def resize(self, width):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def picture(self, name, height=4000):
        """The whole page, or its beginning."""
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height), "scale": 1}})
        (self.folder / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def show(self):
        """Takes the pictures of README.md."""
        self.go(SHOWN)
        self.updates.resume()
        self.resize(1120)
        for colour in ("light", "dark"):
            self.emulate(colour)
            self.picture(f"console-{colour}", height=640)
        self.updates.pause()
        self.emulate("light")
        self.resize(1280)

    def grant(self):
        """Grants access by hand and withdraws it; looks at each page on the way."""
        self.go(SHOWN)
        self.open_form()
        day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))
        self.fill(day, "too late")
        self.wait("a day that is over is refused", lambda: "Not done." in self.driver.page_source)
        self.judge("grant-refused")
        self.fill(time.strftime("%Y-%m-%d", time.gmtime(time.time() + 40 * 86_400)), "sorry for <u>Friday</u>")
        self.wait("the preview comes", lambda: "Grant access?" in self.driver.title)
        self.judge("grant-preview")
        self.driver.find_element(By.CSS_SELECTOR, "form.confirm button").click()
        self.wait("the grant is given", lambda: self.driver.current_url == URL + SHOWN)
        if "sorry for <u>" not in self.driver.find_element(By.TAG_NAME, "main").text:
            self.note("grant", "is not shown with its note")
        self.judge("granted")
        self.driver.find_element(By.CSS_SELECTOR, "form[action$='/withdraw'] button").click()
        self.wait("the preview comes", lambda: "Withdraw the grant?" in self.driver.title)
        self.judge("withdrawal-preview")
        self.driver.find_element(By.CSS_SELECTOR, "form.confirm button").click()
        self.wait("the grant is withdrawn", lambda: self.driver.current_url == URL + SHOWN)
        if self.driver.find_elements(By.CSS_SELECTOR, "form[action$='/withdraw']"):
            self.note("grant", "can be withdrawn twice")

    def ask_apple(self, transaction):
        """Asks Apple about an order of two transactions, of which one is not known here."""
        self.go("/")
        self.look_for(f"M{transaction}M1000000000000999")
        self.wait("nothing is found", lambda: "Ask Apple" in self.driver.page_source)
        self.judge("ask-apple")
        self.driver.find_element(By.CSS_SELECTOR, "form[action$='/orders'] button").click()
        self.wait("Apple answers", lambda: "1000000000000999" in self.driver.find_element(By.TAG_NAME, "main").text)
        if not self.driver.find_elements(By.CSS_SELECTOR, "main a[href*='/purchases/']"):
            self.note("order", "does not lead to the purchase that is known")
        self.judge("order")

    def endpoint(self):
        """Tests an endpoint, disables and enables it, and rotates its secret."""
        self.begin(ENDPOINT, "test", "Send a test event?")
        self.confirm("the test's event opens", lambda: "/events/" in self.driver.current_url)
        self.judge("test-event")
        self.begin(ENDPOINT, "disable", "Disable the endpoint?")
        self.confirm("the endpoint is disabled", lambda: "Gets nothing" in self.driver.page_source)
        self.judge("endpoint-disabled")
        self.begin(ENDPOINT, "enable", "Enable the endpoint?")
        self.confirm("the endpoint is enabled", lambda: self.driver.current_url == URL + ENDPOINT)
        if "Gets nothing" in self.driver.page_source:
            self.note("endpoint", "stays disabled")
        self.judge("endpoint-enabled")
        self.begin(ENDPOINT, "rotate", "Rotate the secret?")
        self.confirm("the new secret is shown", lambda: "The new secret" in self.driver.title)
        if "whsec_" not in self.driver.find_element(By.TAG_NAME, "main").text:
            self.note("endpoint", "does not show its new secret")
        self.judge("new-secret")

    def transfer(self):
        """Gives a purchase to another customer and back."""
        self.go(SHOWN)
        links = self.driver.find_elements(By.CSS_SELECTOR, "main td a[href*='/purchases/']")
        # The one that gives access: only such a purchase moves.
        good = [link for link in links
                if link.find_elements(By.XPATH, "./ancestor::tr//span[contains(@class, 'good')]")]
        if not good:
            return self.note("transfer", "finds no purchase that gives access")
        purchase = good[0].get_attribute("href").removeprefix(URL)
        self.begin(purchase, "transfer", "Transfer the purchase", "transfer-question")
        self.give("nobody-has-this-id")
        self.wait("an unknown customer is refused", lambda: "Not done." in self.driver.page_source)
        self.judge("transfer-refused")
        for customer in (CUSTOMER, SHOWN):
            name = customer.rpartition("/")[2]
            self.begin(purchase, "transfer", "Transfer the purchase", judges=False)
            self.give(name)
            self.wait("the preview comes", lambda: "Transfer the purchase?" in self.driver.title)
            self.judge(f"transfer-preview-{name}")
            self.confirm("the purchase is transferred", lambda: self.driver.current_url == URL + purchase)
            if name not in self.driver.find_element(By.TAG_NAME, "dl").text:
                self.note("transfer", f"has not given the purchase to {name}")
        self.judge("transferred")

    def check(self):
        """Asks Apple about a purchase that was refunded without a notification, and lets a worker apply it."""
        # Not earlier: Notification History tells of the refund, too.
        subprocess.run(json.loads(os.environ["REFUND_OF_ASKED"]), check=True, capture_output=True)
        self.begin(ASKED, "check", "Ask Apple?")
        self.confirm("Apple says something else", lambda: "As Apple says" in self.driver.page_source)
        self.judge("apple-says-something-else")
        self.confirm("the purchase opens", lambda: self.driver.current_url == URL + ASKED)
        self.wait("a worker has applied it", lambda: self.seen("Gives no access"))
        self.begin(ASKED, "check", "Ask Apple?", judges=False)
        self.confirm("Apple says the same", lambda: "Apple says the same" in self.driver.page_source)
        self.judge("apple-says-the-same")

    def play(self):
        """Plays a life in the simulator: begins it, gives it to a customer, and refunds it."""
        self.go("/play")
        self.judge("play")
        self.driver.find_element(By.ID, "customer").send_keys(CUSTOMER.rpartition("/")[2])
        self.press("form[action$='/play/start'] button")
        self.wait("the life begins", lambda: "/play/1001/" in self.driver.current_url)
        page = self.driver.current_url.removeprefix(URL)
        self.updates.resume()
        self.updates.shows("Give it to")
        self.updates.pause()
        self.judge("life-of-nobody")
        self.press("form[action$='/transfer'] button")
        self.wait("the preview comes", lambda: "Transfer the purchase?" in self.driver.title)
        self.confirm("the purchase opens", lambda: "/purchases/" in self.driver.current_url)
        self.go(page)
        self.press("form[action$='/fail'] button")
        self.wait("the renewal fails", lambda: "in its grace period" in self.driver.page_source)
        self.go(page)
        self.judge("life-in-grace")
        self.press("form[action$='/refund'] button")
        self.wait("the life is refunded", lambda: "At Apple: refunded" in self.driver.page_source)
        self.go(page)
        self.judge("life-refunded")

    def seen(self, words):
        """Loads the page again; says whether it has the words."""
        self.driver.refresh()
        return words in self.driver.page_source

    def begin(self, page, action, title, name=None, judges=True):
        """Presses the button of an action on a page, and looks at the preview."""
        self.go(page)
        self.press(f"form[action$='{page}/{action}'] button")
        self.wait(f"{title} comes", lambda: self.driver.title.startswith(title))
        if judges:
            self.judge(name or f"{action}-preview")

    def confirm(self, what, condition):
        self.press("form.confirm button")
        self.wait(what, condition)

    def give(self, customer):
        field = self.driver.find_element(By.ID, "to")
        field.clear()
        field.send_keys(customer)
        self.press("form.confirm button")

    def write(self):
        """Writes a note about the customer who was shown."""
        self.go(SHOWN)
        self.driver.find_element(By.XPATH, "//summary[contains(., 'Write a note')]").click()
        self.driver.find_element(By.ID, "text").send_keys("called twice\nabout <u>Friday</u>")
        self.press("form[action$='/notes'] button")
        self.wait("the preview comes", lambda: "Keep the note?" in self.driver.title)
        self.judge("note-preview")
        self.confirm("the note is kept", lambda: self.driver.current_url == URL + SHOWN)
        if "about <u>Friday" not in self.driver.find_element(By.TAG_NAME, "main").text:
            self.note("note", "is not shown in the timeline")
        self.judge("noted")

    def release(self):
        """Releases a purchase of the customer who was shown, and erases the customer."""
        self.go(SHOWN)
        self.driver.find_element(By.CSS_SELECTOR, "main a[href*='/purchases/']").click()
        self.press("form[action$='/release'] button")
        self.wait("the preview comes", lambda: "Release the purchase?" in self.driver.title)
        self.judge("release-preview")
        self.press("form.confirm button")
        self.wait("the purchase is released", lambda: "nobody" in self.driver.find_element(By.TAG_NAME, "dl").text)
        self.go(SHOWN)
        self.press("form[action$='/erase'] button")
        self.wait("the preview comes", lambda: "Erase the customer?" in self.driver.title)
        self.driver.find_element(By.ID, "customerId").send_keys("another")
        self.press("form.confirm button")
        self.wait("another id is refused", lambda: "Not done." in self.driver.page_source)
        self.judge("erasure-refused")
        self.driver.find_element(By.ID, "customerId").send_keys(SHOWN.rpartition("/")[2])
        self.press("form.confirm button")
        self.wait("the customer is erased", lambda: "Erased" in self.driver.title)
        self.judge("erased")

    def lists(self, when):
        """Opens each list by its link, and shows one publisher's part."""
        names = [link.text for link in self.driver.find_elements(By.CSS_SELECTOR, "nav a")][1:]
        if not names:
            self.note("lists", "have no link in the header")
        for name in names:
            self.driver.find_element(By.LINK_TEXT, name).click()
            self.wait(f"{name} opens", lambda name=name: self.driver.title.startswith(name))
            page = f"{name.lower().replace(' ', '-')}-{when}"
            self.judge(page)
            options = self.driver.find_elements(By.CSS_SELECTOR, "select[name='publisher'] option[value='1001']")
            if options:
                options[0].click()
                self.press("form.filters button")
                self.wait("one publisher's part is shown", lambda: "publisher=1001" in self.driver.current_url)
                self.judge(f"{page}-of-one-publisher")

    def traffic(self):
        """Opens an endpoint, one of its events with the preview of a resend, and what else has a page of its own."""
        # Nobody reaches the other endpoint, so it has no events.
        if (self.open_first("Webhooks", "endpoint", "/endpoints/", besides=ENDPOINT)
                and self.follow("/events/", "event")):
            resend = self.driver.find_elements(By.CSS_SELECTOR, "form[action$='/resend'] button")
            if resend:
                resend[0].click()
                self.wait("the preview comes", lambda: "Send the event again?" in self.driver.title)
                self.judge("resend-preview")
        self.open_first("Notifications", "notification", "/notifications/")
        self.open_first("Synchronizations", "synchronization", "/synchronizations/", is_needed=False)

    def open_first(self, name, page, path, is_needed=True, besides=""):
        """Opens the first row of a list; returns whether there is one."""
        self.driver.find_element(By.LINK_TEXT, name).click()
        self.wait(f"{name} opens", lambda: self.driver.title.startswith(name))
        return self.follow(path, page, is_needed, besides)

    def follow(self, path, page, is_needed=True, besides=""):
        links = [link for link in self.driver.find_elements(By.CSS_SELECTOR, f"main td a[href*='{path}']")
                 if not besides or not link.get_attribute("href").endswith(besides)]
        if not links:
            if is_needed:
                self.note(page, "has no link in the list")
            return False
        links[0].click()
        self.wait(f"the page of the {page} opens", lambda: path in self.driver.current_url)
        for detail in self.driver.find_elements(By.CSS_SELECTOR, "main details:not([open]) > summary"):
            detail.click()
        self.judge(page)
        return True

    def press(self, selector):
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def open_form(self):
        details = self.driver.find_element(By.XPATH, "//details[summary[contains(., 'Grant access by hand')]]")
        if details.get_attribute("open") is None:
            details.find_element(By.TAG_NAME, "summary").click()

    def fill(self, day, note):
        # What a browser lets people type into a date depends on their language, so the value is set.
        self.driver.execute_script(
            "document.getElementById('until').value = arguments[0]", day)
        field = self.driver.find_element(By.ID, "note")
        field.clear()
        field.send_keys(note)
        self.driver.find_element(By.CSS_SELECTOR, "form.fields button").click()

    def walk(self):
        self.sign_in(USER)
        self.judge("find")
        # The rest of the walk has them paused: no region goes while it is looked at.
        self.updates.look(SHOWN)
        self.go("/")
        self.look_for("nothing-has-this-id")
        self.judge("found-nothing")
        self.look_for(CUSTOMER.rpartition("/")[2])
        self.wait("one hit opens its page", lambda: CUSTOMER in self.driver.current_url)
        self.judge("customer")
        links = {link.get_attribute("href").removeprefix(URL)
                 for link in self.driver.find_elements(By.CSS_SELECTOR, "main a[href*='/purchases/']")}
        if not links:
            self.note("customer", "links to no purchase")
        for number, link in enumerate(sorted(links), 1):
            self.go(link)
            for detail in self.driver.find_elements(By.CSS_SELECTOR, "details > summary"):
                detail.click()
            self.judge(f"purchase-{number}")
        self.ask_apple(sorted(links)[0].rpartition("/")[2])
        self.show()
        self.grant()
        self.lists("at-first")
        self.traffic()
        self.endpoint()
        self.transfer()
        self.check()
        self.write()
        self.play()
        self.release()
        self.lists("after-a-release")
        self.go("/customers/1001/nobody-has-this-id")
        self.judge("no-customer")
        self.driver.find_element(By.CSS_SELECTOR, ".who button").click()
        self.wait("the session ends", lambda: "/sign-in" in self.driver.current_url)
        self.sign_in(VIEWER)
        self.go(CUSTOMER)
        if "Has access" in self.driver.page_source:
            self.note("customer", "is shown to a viewer, who may not see customers")
        if self.driver.find_elements(By.CSS_SELECTOR, "form.fields"):
            self.note("customer", "lets a viewer grant access")
        self.judge("customer-for-a-viewer")
        self.lists("for-a-viewer")


def main():
    folder = pathlib.Path(sys.argv[1])
    driver = browser()
    walk = Walk(driver, folder)
    try:
        walk.walk()
    finally:
        driver.quit()
    print(json.dumps({"pages": len(list(folder.glob("*.html"))), "pictures": len(list(folder.glob("*.png")))}))
    for mistake in walk.mistakes:
        print(mistake, file=sys.stderr)
    return 1 if walk.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
