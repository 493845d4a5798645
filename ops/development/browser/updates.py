"""Looks at what the console's script does with an open page, in a walk through the pages."""
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of

# A region loses its mark when the script replaces it. So the order is seen, and nothing waits for a time.
MARK = """
for (const region of document.querySelectorAll("[data-live]")) {
  const mark = document.createElement("span");
  mark.className = "walked";
  region.append(mark);
}"""
MARKED = """
return [...document.querySelectorAll("[data-live]")].filter(region => region.querySelector(".walked"))
  .map(region => region.id)"""
BUTTON = ".updates button"


class Updates:
    """The regions of the page that is open."""

    def __init__(self, walk):
        self.walk, self.driver = walk, walk.driver

    def told(self):
        return self.driver.find_element(By.CSS_SELECTOR, ".updates [role='status']").text

    def press(self, words):
        """Presses the button, if it says these words."""
        button = self.driver.find_element(By.CSS_SELECTOR, BUTTON)
        if button.text == words:
            button.click()

    def pause(self):
        self.press("Pause updates")

    def resume(self):
        self.press("Resume updates")

    def marked(self):
        return set(self.driver.execute_script(MARKED))

    def replaces(self, what, mark=True):
        """Waits until each region was replaced, without the page being loaded again."""
        if mark:
            self.mark()
        self.walk.wait(f"the regions are replaced {what}", lambda: not self.marked())
        if not self.driver.execute_script("return window.walked"):
            self.walk.note("updates", f"load the whole page {what}")

    def mark(self):
        self.driver.execute_script("window.walked = true;" + MARK)

    def keeps(self, region, why, begin, end):
        """Sees that the script replaces all regions but one, which is in use, and this one as well afterwards."""
        begin()
        self.mark()
        # The script looks at all regions in one go.
        self.walk.wait(f"the others are replaced, {why}", lambda: self.marked() <= {region})
        if self.marked() != {region}:
            self.walk.note("updates", f"replace a region, {why}")
        end()
        self.replaces(f"when nothing is in use any more: {why}", mark=False)

    def shows(self, words):
        """Waits until the page says something that it did not say when it came, without being loaded again."""
        self.driver.execute_script("window.walked = true")
        self.walk.wait(f"the page says: {words}", lambda: words in self.driver.find_element(By.TAG_NAME, "main").text)
        if not self.driver.execute_script("return window.walked"):
            self.walk.note("updates", f"load the whole page to say: {words}")

    # The whole way, on the page about the fleet. It ends with the updates paused.

    def look(self, shown):
        """Looks at each rule. SHOWN is a customer's page, with links in a region."""
        self.walk.go("/fleet")
        self.replaces("by themselves")
        self.keeps("live-processes", "while one has the focus",
                   lambda: self.run("document.querySelector('#live-processes [tabindex]').focus()"),
                   lambda: self.run("document.activeElement.blur()"))
        self.keeps("live-processes", "while a text is selected",
                   lambda: self.run("getSelection().selectAllChildren(document.querySelector('#live-processes th'))"),
                   lambda: self.run("getSelection().removeAllRanges()"))
        # An endpoint's answers can be opened. The fleet has nothing to open, so the walk puts it there.
        self.keeps("live-processes", "while something in it is open",
                   lambda: self.run("document.getElementById('live-processes').append("
                                    "Object.assign(document.createElement('details'), {open: true}))"),
                   lambda: self.run("document.querySelector('#live-processes details').open = false"))
        self.hold()
        self.go_offline()
        self.end_session()
        self.walk.go(shown)
        link = self.driver.find_element(By.CSS_SELECTOR, "#live-purchases a")
        self.keeps("live-purchases", "while the pointer is on a link", lambda: self.point_at(link),
                   lambda: self.point_at(self.driver.find_element(By.TAG_NAME, "h1")))
        self.pause()
        self.without_script()

    def run(self, script):
        self.driver.execute_script(script)

    def point_at(self, element):
        ActionChains(self.driver).move_to_element(element).perform()

    def hold(self):
        """Pauses the updates, and hides the page. Another window goes on, so time has passed when it was refreshed."""
        own = self.driver.current_window_handle
        self.pause()
        if self.told() != "Updates are paused.":
            self.walk.note("updates", f"are paused, and the page says: {self.told()}")
        self.walk.judge("fleet-paused")
        self.mark()
        self.driver.switch_to.new_window("window")
        other = self.driver.current_window_handle
        self.walk.go("/fleet")
        self.stay(own, other, "while they are paused", is_hidden=False)
        self.walk.go("/fleet")
        self.resume()
        self.replaces("when they go on")
        self.driver.minimize_window()
        self.mark()
        self.stay(own, other, "while the page is hidden", is_hidden=True)
        self.driver.set_window_rect(0, 0, 1280, 900)
        self.replaces("when the page is seen again", mark=False)
        self.driver.switch_to.window(other)
        self.driver.close()
        self.driver.switch_to.window(own)

    def stay(self, own, other, when, is_hidden):
        """Lets the other window be refreshed twice, and sees that the own one was not."""
        self.driver.switch_to.window(other)
        for _ in range(2):
            self.replaces(f"in another window, {when}")
        self.driver.switch_to.window(own)
        if self.driver.execute_script("return document.hidden") != is_hidden:
            self.walk.note("updates", f"were not looked at {when}: the browser does not do so")
        if len(self.marked()) < 4:
            self.walk.note("updates", f"replace regions {when}")

    def go_offline(self):
        self.network(is_off=True)
        self.walk.wait("the script waits longer", lambda: "wait for 10 seconds" in self.told())
        self.network(is_off=False)
        self.replaces("when the console answers again")
        if self.told():
            self.walk.note("updates", f"work, and the page says: {self.told()}")

    def network(self, is_off):
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})

    def end_session(self):
        """Signs out behind the back of the page, and in again by its link."""
        self.driver.execute_async_script(
            "fetch('/sign-out', {method: 'POST'}).finally(arguments[arguments.length - 1])")
        self.walk.wait("the script stops", lambda: "Updates stopped: your session is over." in self.told())
        self.walk.judge("fleet-stopped")
        self.driver.find_element(By.LINK_TEXT, "Sign in again").click()
        self.walk.wait("the sign-in opens", lambda: "/sign-in" in self.driver.current_url)
        self.walk.fill_in_sign_in()
        self.walk.wait("the page opens again", lambda: self.driver.current_url.endswith("/fleet"))

    def without_script(self):
        """Opens the page in a browser without JavaScript. It loads itself again on demand."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.walk.go("/fleet")
            if self.driver.find_elements(By.CSS_SELECTOR, BUTTON):
                self.walk.note("updates", "have a button without JavaScript")
            self.driver.find_element(By.LINK_TEXT, "Load again every 5 seconds").click()
            self.walk.wait("the page promises to load itself", lambda: "live=1" in self.driver.current_url)
            before = self.driver.find_element(By.TAG_NAME, "main")
            self.walk.wait("the page loads itself", lambda: staleness_of(before)(self.driver))
        finally:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        self.walk.go("/fleet?live=1")
        if self.driver.find_elements(By.CSS_SELECTOR, "script, [data-live]"):
            self.walk.note("updates", "have a script on a page that loads itself")
        self.walk.judge("fleet-on-demand")
