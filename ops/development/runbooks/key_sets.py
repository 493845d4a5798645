"""The keys of an identity provider. It is the last topic: no setting shortens the alert's quarter of an hour."""
import base64
import json
import subprocess
import time

from development.runbooks import trial
from development.runbooks.endpoint import endpoint
from fleet.system import free_ports


def token(**claims):
    """A customer's token that a key has signed that nobody has."""
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return ".".join([part({"alg": "RS256", "typ": "JWT", "kid": "made-up"}), part(claims), "AAAA"])


@trial
def key_set_overdue(stage):
    """nobody listens at `customerTokens.jwks.url` of a publisher, for a quarter of an hour"""
    port = free_ports(1)[0]
    path = stage.configuration.folder / "publishers" / "identity.json"
    whose = {"iss": "https://id.example.com", "aud": "tv"}
    path.write_text(json.dumps({"publisherId": 4, "customerTokens": {
        "issuer": whose["iss"], "audience": [whose["aud"]], "jwks": {"url": f"http://127.0.0.1:{port}/"}}}))
    line = json.loads(stage.logs("gateway", "key set not fetched"))
    stage.note(f"its `outcome` is `{line['outcome']}`")
    claims = whose | {"customerId": "a", "publisherId": 4, "exp": int(time.time()) + 600}
    run = subprocess.run(
        ["curl", "--silent", "--noproxy", "*", "--header", f"Authorization: Bearer {token(**claims)}", "--write-out",
         " %{http_code}", f"http://{stage.configuration.listen['gateway']}/customers/a/entitlements"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    text, _, status = run.stdout.rpartition(" ")
    stage.note(f"a customer's token gets {status} `{json.loads(text).get('code')}`")
    stage.fires("KeySetOverdue", seconds=1200)
    stage.metric(f'countersign_jwks_fetches_total{{outcome="{line["outcome"]}"}}', lambda value: value > 15, "grows")
    keys = json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": "first",
                                 "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})
    with endpoint(200, keys, port):
        stage.logs("gateway", "key set fetched again")
        stage.ends("KeySetOverdue")
    path.unlink()
