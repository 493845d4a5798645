"""Who may not, in a walk through the pages: a viewer, and the support of another publisher."""
from places import ASKED, CUSTOMER, ENDPOINT, OTHER, VIEWER, name_of

ACTIONS = (f"{ASKED}/check", f"{CUSTOMER}/grants")
# What a page does not show can be posted all the same.
POST = """
const form = Object.assign(document.createElement("form"), {method: "post", action: arguments[0]});
document.body.append(form);
form.submit();"""


class Strangers:
    def __init__(self, walk):
        self.walk, self.driver = walk, walk.driver

    def look_as_viewer(self):
        """Sees that a viewer gets no customer and no action."""
        walk = self.walk
        walk.sign_in(VIEWER)
        walk.go(CUSTOMER)
        if "Not for viewers" not in walk.text() or "Has access" in self.driver.page_source:
            walk.note("customer", "is shown to a viewer, who may not see customers")
        if walk.find("form.fields"):
            walk.note("customer", "lets a viewer grant access")
        walk.judge("customer-for-a-viewer")
        walk.go(ASKED)
        if walk.find("main form[method='post']"):
            walk.note("purchase", "has an action for a viewer")
        if name_of(CUSTOMER) in walk.text():
            walk.note("purchase", "names its owner to a viewer")
        walk.judge("purchase-for-a-viewer")
        for path in ACTIONS:
            self.post(path, "A viewer changes nothing", f"{name_of(path)}-by-a-viewer")

    def look_as_another_publisher(self):
        """Sees that another publisher's support gets nothing: no page, no hit and no action."""
        walk = self.walk
        walk.sign_in(OTHER)
        for name, page in (("customer", CUSTOMER), ("purchase", ASKED), ("endpoint", ENDPOINT)):
            walk.go(page)
            if "Nothing is here" not in walk.text():
                walk.note(name, "is shown to another publisher's support")
            walk.judge(f"{name}-of-another-publisher")
        for name, page in (("customer", CUSTOMER), ("purchase", ASKED)):
            walk.look_for(name_of(page))
            walk.wait("the search ends", lambda page=page: name_of(page) in self.driver.title
                      or page in self.driver.current_url)
            if "Nothing has this id" not in walk.text():
                walk.note(name, "is found by another publisher's support")
            walk.judge(f"{name}-not-found-by-another-publisher")
        for path in ACTIONS:
            self.post(path, "Nothing is here", f"{name_of(path)}-by-another-publisher")

    def post(self, path, refusal, name):
        """Posts to an action without a button, waits for the refusal, and looks at it."""
        self.driver.execute_script(POST, path)
        self.walk.wait(f"an action is refused: {refusal}",
                       lambda: self.walk.is_at(path) and refusal in self.driver.page_source)
        self.walk.judge(name)
