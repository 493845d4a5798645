"""A walk through the pages of a console with Chromium: it opens pages, presses buttons, and judges what it sees."""
import base64
import pathlib
import time
import urllib.error
import urllib.request

import axe_playwright_python
from places import PASSWORD, URL, USER
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from updates import Updates

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

    # Going, and waiting

    def go(self, path):
        self.driver.get(URL + path)

    def wait(self, what, condition, seconds=SECONDS):
        # A condition may look at the page that goes while it looks.
        WebDriverWait(self.driver, seconds, ignored_exceptions=[StaleElementReferenceException]).until(
            lambda _: condition(), what)

    def is_at(self, path):
        return self.driver.current_url == URL + path

    def seen(self, words):
        """Loads the page again; says whether it has the words."""
        self.driver.refresh()
        return words in self.driver.page_source

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "main").text

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    # Signing in, and searching

    def sign_in(self, name):
        self.go("/sign-in")
        self.judge("sign-in")
        self.fill_in_sign_in(name)

    def fill_in_sign_in(self, name=USER):
        self.driver.find_element(By.NAME, "name").send_keys(name)
        self.driver.find_element(By.NAME, "password").send_keys(PASSWORD)
        self.press("form button")
        self.wait("the sign-in ends", lambda: "/sign-in" not in self.driver.current_url)

    def sign_out(self):
        self.press(".who button")
        self.wait("the session ends", lambda: "/sign-in" in self.driver.current_url)

    def look_for(self, text):
        field = self.driver.find_element(By.NAME, "q")
        field.clear()
        field.send_keys(text)
        field.submit()

    # Acting

    def press(self, selector):
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def begin(self, page, action, title, name=None, judges=True):
        """Presses the button of an action on a page, and looks at the preview."""
        self.go(page)
        self.press(f"form[action$='{page}/{action}'] button")
        self.preview(title, (name or f"{action}-preview") if judges else None)

    def preview(self, title, name):
        """Waits for the preview of an action; looks at it if it has a name."""
        self.wait(f"{title} comes", lambda: self.driver.title.startswith(title))
        if name:
            self.judge(name)

    def confirm(self, what, condition):
        self.press("form.confirm button")
        self.wait(what, condition)

    def open(self, words):
        """Opens what is closed, by its summary."""
        self.driver.find_element(By.XPATH, f"//details[not(@open)]/summary[contains(., '{words}')]").click()

    def fill(self, field, text):
        element = self.driver.find_element(By.ID, field)
        element.clear()
        element.send_keys(text)

    def choose_day(self, field, distance):
        """Chooses the day in UTC that is so many days from now."""
        day = time.strftime("%Y-%m-%d", time.gmtime(time.time() + distance * 86_400))
        # What a browser lets people type into a date depends on their language, so the value is set.
        self.driver.execute_script("document.getElementById(arguments[0]).value = arguments[1]", field, day)

    # Judging

    def note(self, name, mistake):
        self.mistakes.append(f"{name}: {mistake}")

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
