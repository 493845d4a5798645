"""Files with mistakes."""
from development.runbooks import trial


@trial
def configuration_refused(stage):
    """`countersign.json` is not JSON"""
    with stage.file(stage.configuration.file, lambda text: text + "}"):
        stage.fires("ConfigurationRefused")
        stage.logs("gateway", "configuration not reloaded; still using the old one")
    stage.ends("ConfigurationRefused")


@trial
def publisher_broken(stage):
    """a publisher's file names a key file that does not exist; then a gateway starts"""
    folder = stage.configuration.folder / "publishers"
    path = folder / "example.json"
    # Without any publisher, a role does not start.
    (folder / "other.json").write_text('{"publisherId": 2}')
    with stage.file(path, lambda text: text.replace("AuthKey_", "NoKey_")):
        stage.fires("PublisherFileBroken")
        stage.ready("worker", r"degraded: publishers: mistakes in example.json")
        stage.kill("gateway")
        stage.start("gateway")
        stage.fires("PublisherAbsent")
        stage.logs("gateway", "a publisher's file has a mistake; the publisher is absent")
    stage.ends("PublisherFileBroken", "PublisherAbsent")
    stage.logs("gateway", "a publisher's file no longer has a mistake")
