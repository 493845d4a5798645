"""What comes in and goes out, in a walk through the pages: lists, notifications, endpoints, and events again."""
from places import ENDPOINT, URL
from selenium.webdriver.common.by import By

# A notifier's sweep finds what was sent again at the console. It looks every 30 seconds.
SWEEP_SECONDS = 120
ATTEMPTS = "#live-attempts tbody tr"


class Traffic:
    def __init__(self, walk):
        self.walk, self.driver = walk, walk.driver

    # Lists

    def lists(self, when):
        """Opens each list by its link, and shows one publisher's part."""
        walk = self.walk
        names = [link.text for link in walk.find("nav a")][1:]
        if not names:
            walk.note("lists", "have no link in the header")
        for name in names:
            self.open_list(name)
            page = f"{name.lower().replace(' ', '-')}-{when}"
            walk.judge(page)
            options = walk.find("select[name='publisher'] option[value='1001']")
            if options:
                options[0].click()
                walk.press("form.filters button")
                walk.wait("one publisher's part is shown", lambda: "publisher=1001" in self.driver.current_url)
                walk.judge(f"{page}-of-one-publisher")

    def open_list(self, name):
        self.driver.find_element(By.LINK_TEXT, name).click()
        self.walk.wait(f"{name} opens", lambda: self.driver.title.startswith(name))

    def look(self):
        """Opens an endpoint, one of its events and sends it again, and what else has a page of its own."""
        # Nobody reaches the other endpoint, so it has no events.
        if (self.open_first("Webhooks", "endpoint", "/endpoints/", besides=ENDPOINT)
                and self.follow("/events/", "event")):
            self.resend()
        self.open_first("Notifications", "notification", "/notifications/")
        self.open_first("Synchronizations", "synchronization", "/synchronizations/", is_needed=False)

    def open_first(self, name, page, path, is_needed=True, besides=""):
        """Opens the first row of a list; returns whether there is one."""
        self.open_list(name)
        return self.follow(path, page, is_needed, besides)

    def follow(self, path, page, is_needed=True, besides=""):
        walk = self.walk
        links = [link for link in walk.find(f"main td a[href*='{path}']")
                 if not besides or not link.get_attribute("href").endswith(besides)]
        if not links:
            if is_needed:
                walk.note(page, "has no link in the list")
            return False
        links[0].click()
        walk.wait(f"the page of the {page} opens", lambda: path in self.driver.current_url)
        for detail in walk.find("main details:not([open]) > summary"):
            detail.click()
        walk.judge(page)
        return True

    # Events

    def resend(self):
        """Sends the event that is open again, and waits for the attempt."""
        walk = self.walk
        if not walk.find("form[action$='/resend']"):
            return walk.note("event", "cannot be sent again")
        page, before = self.driver.current_url, len(walk.find(ATTEMPTS))
        walk.press("form[action$='/resend'] button")
        walk.preview("Send the event again?", "resend-preview")
        walk.confirm("the event opens", lambda: self.driver.current_url == page)
        walk.wait("the event is sent again", lambda: self.attempts() > before, SWEEP_SECONDS)
        walk.judge("resent")

    def attempts(self):
        """Loads an event's page again; counts its attempts."""
        self.driver.refresh()
        return len(self.walk.find(ATTEMPTS))

    # Notifications

    def test_notification(self):
        """Lets Apple post a test, and watches it arrive."""
        walk = self.walk
        walk.go("/notifications")
        walk.press("form[action$='/notifications/test'] button")
        walk.preview("Send a test notification?", "test-notification-preview")
        walk.confirm("Apple is asked for a test", lambda: "/notifications/tested" in self.driver.current_url)
        # The page loads itself again while Apple has nothing to tell.
        walk.wait("Apple tells about the test", lambda: "The test has " in walk.text())
        if "The test has arrived" not in walk.text():
            walk.note("test-notification", "has not arrived")
        walk.judge("test-notification")

    # Endpoints

    def endpoint(self):
        """Tests an endpoint, disables and enables it, asks for what it has missed, and rotates its secret."""
        walk = self.walk
        walk.begin(ENDPOINT, "test", "Send a test event?")
        walk.confirm("the test's event opens", lambda: "/events/" in self.driver.current_url)
        walk.judge("test-event")
        walk.begin(ENDPOINT, "disable", "Disable the endpoint?")
        walk.confirm("the endpoint is disabled", lambda: "Gets nothing" in self.driver.page_source)
        walk.judge("endpoint-disabled")
        walk.begin(ENDPOINT, "enable", "Enable the endpoint?")
        walk.confirm("the endpoint is enabled", lambda: self.driver.current_url == URL + ENDPOINT)
        if "Gets nothing" in self.driver.page_source:
            walk.note("endpoint", "stays disabled")
        walk.judge("endpoint-enabled")
        walk.open("Send again what it has missed")
        walk.choose_day("since", -1)
        walk.press("form[action$='/recover'] button")
        walk.preview("Send the missed events again?", "recover-preview")
        walk.begin(ENDPOINT, "rotate", "Rotate the secret?")
        walk.confirm("the new secret is shown", lambda: "The new secret" in self.driver.title)
        if "whsec_" not in walk.text():
            walk.note("endpoint", "does not show its new secret")
        walk.judge("new-secret")
