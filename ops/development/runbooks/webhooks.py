"""Endpoints, and the secrets that sign what they get."""
from development.runbooks import trial
from development.runbooks.endpoint import endpoint


@trial
def endpoint_gone(stage):
    """an endpoint answers 410"""
    with endpoint(410) as server:
        stage.endpoint(server.url)
        stage.register(100, 3)
        stage.fires("EndpointDisabled")
        stage.logs("notifier", "endpoint disabled")


@trial
def keys_lost(stage):
    """a notifier starts with another key than the secrets in the ledger need"""
    path = stage.configuration.folder / "ledger-keys.json"
    with stage.file(path, lambda text: text.replace('"first"', '"second"')):
        stage.kill("notifier")
        stage.start("notifier")
        stage.register(100, 10)
        stage.fires("SecretKeyMissing", "SecretsUnreadable")
        stage.ready("notifier", r"[a-z ]+: secret keys[^\n]{0,60}")
        stage.logs("notifier", "delivery put off")
    stage.ends("SecretKeyMissing")


@trial
def event_too_long(stage):
    """the currency of a purchase has 70,000 characters (by SQL); then Apple refunds it"""
    life = stage.life(2)
    for table in ("purchases", "transactions"):
        stage.sql(f"UPDATE {table} SET currency = repeat('x', 70000) WHERE original_transaction_id = '{life}'")
    stage.simulator("POST", f"lives/{life}/refund")
    stage.fires("EventReduced")
    stage.logs("worker", "an event was shortened because it was too long")
    event = stage.sql("SELECT convert_from(body, 'UTF8') FROM events "
                      "WHERE topic = 'purchaseUpdated' AND convert_from(body, 'UTF8') LIKE '%omittedBytes%' LIMIT 1")
    stage.note(f"the table `events`: `{event[:80]}…`")
    stage.load.expect("GET", f"/purchases/{life}", None, (200,))
    stage.note("`GET /purchases/{originalTransactionId}` answers 200")
