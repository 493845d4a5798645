"""Writes a configuration for this machine: fresh secrets, private servers, the simulator in place of Apple."""
import base64
import hashlib
import hmac
import json
import os
import secrets
import shutil
import time

PUBLISHER = 1001
CUSTOMER = 987654321
SIMULATED_APP = {
    "bundleId": "com.example.app",
    "appAppleId": 1234567890,
    "issuerId": "57246542-96fe-1a63-e053-0824d011072a",
    "keyId": "2X9R4HXF34",
}

# What the doors show of an offer stands beside what decides about access. The prices are those of the simulator.
OFFERS = [
    {
        "offerId": "S123123123_US",
        "productIds": ["com.example.app.monthly", "com.example.app.yearly"],
        "tags": ["video"],
        "displayName": "Video",
        "itemClass": "subscriptions",
        "catalogVersion": "5",
        "coupons": ["SUMMER"],
    },
    {
        "offerId": "A123123124_US",
        "productIds": ["com.example.app.lifetime"],
        "price": {"amount": 4999, "currency": "USD"},
    },
    {
        "offerId": "R123123126_US",
        "productIds": ["com.example.app.coins"],
        "displayName": "A bag of coins",
        "itemClass": "coins",
        "price": {"amount": 199, "currency": "USD"},
    },
    {"offerId": "P123123125_US", "productIds": ["com.example.app.pass"], "accessDays": 30},
]

PRIVATE = tuple(f"COUNTERSIGN_{name}" for name in (
    "RABBITMQ", "REDIS", "LEDGER", "PUBLISHERS", "SIMULATOR", "APP_STORE", "GATEWAY_LISTEN", "WORKER_LISTEN",
    "NOTIFIER_LISTEN", "CONSOLE", "TEST", "FIXTURES"))


# Who can sign in to the console.
CONSOLE_USER = "support"


def console_user(name, password):
    """A line of the console's file of users, as `countersign console-password` makes it."""
    salt = secrets.token_bytes(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2 ** 15, r=8, p=1, maxmem=2 ** 27, dklen=32)
    part = [base64.urlsafe_b64encode(value).rstrip(b"=").decode() for value in (salt, digest)]
    return f"{name} operator * scrypt$15${part[0]}${part[1]}\n"


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Configuration:
    """The configuration with which `ops/run` starts the roles, and the values that a client of them needs."""

    def __init__(self, folder, servers, listen):
        """
        folder: the folder for the files
        servers: the addresses of RabbitMQ, Redis and PostgreSQL, as ops/servers prints them
        listen: an address and port for each of gateway, worker 1, worker 2, notifier, simulator and receiver
        """
        self.folder = folder
        self.simulator = folder.parent / "simulator"
        self.file = folder / "countersign.json"
        self.webhook_secret_file = folder / "webhook.secret"
        # The secrets of endpoints with a vendor's format, for ops/receiver.
        self.iaptic_password_file = folder / "iaptic.password"
        self.mbaasy_hmac_key_file = folder / "mbaasy.key"
        self.console_users_file = folder / "console-users"
        self.rabbitmq = servers["COUNTERSIGN_RABBITMQ_URL"]
        self.redis = servers["COUNTERSIGN_REDIS_URL"]
        self.ledger = servers["COUNTERSIGN_LEDGER_URL"]
        self.listen = listen
        self.publisher_token = secrets.token_urlsafe(32)
        self.customer_token_secret = secrets.token_urlsafe(32)
        self.iaptic_api_key = secrets.token_urlsafe(32)
        self.iaptic_secret_key = secrets.token_urlsafe(32)
        self.mbaasy_client_token = secrets.token_urlsafe(32)
        self.mbaasy_hmac_key = secrets.token_urlsafe(32)
        self.ledger_key = base64.b64encode(secrets.token_bytes(32)).decode()
        self.console_password = secrets.token_urlsafe(12)
        self.webhook_secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()

    def customer_token(self, customer, seconds):
        """A token of the publisher for one customer: a JWT that is signed with the configured secret."""
        def part(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")

        claims = {"customerId": customer, "publisherId": PUBLISHER, "exp": int(time.time()) + seconds}
        signed = b".".join(part(json.dumps(value).encode()) for value in ({"alg": "HS256", "typ": "JWT"}, claims))
        signature = hmac.new(self.customer_token_secret.encode(), signed, hashlib.sha256).digest()
        return (signed + b"." + part(signature)).decode()

    @property
    def iaptic_credential(self):
        """What a backend sends to iaptic's door: the app's name and its secret key."""
        return f"{SIMULATED_APP['bundleId']}:{self.iaptic_secret_key}"

    @property
    def tls_authority(self):
        return self.simulator / "tls-ca.pem"

    def write(self):
        for folder in (self.folder, self.simulator):
            shutil.rmtree(folder, ignore_errors=True)
        (self.folder / "publishers").mkdir(parents=True)
        self.simulator.mkdir(mode=0o700)
        self.folder.chmod(0o700)
        self.file.write_text(json.dumps(self.settings(), indent=2) + "\n")
        (self.folder / "publishers" / "example.json").write_text(json.dumps(self.publisher(), indent=2) + "\n")
        (self.folder / "customer-token.secret").write_text(self.customer_token_secret + "\n")
        (self.folder / "ledger-keys.json").write_text(
            json.dumps({"keys": [{"id": "first", "key": self.ledger_key}]}) + "\n")
        self.console_users_file.write_text(console_user(CONSOLE_USER, self.console_password))
        self.webhook_secret_file.write_text(self.webhook_secret + "\n")
        self.iaptic_password_file.write_text(self.iaptic_secret_key + "\n")
        self.mbaasy_hmac_key_file.write_text(self.mbaasy_hmac_key + "\n")

    def settings(self):
        app_store = f"https://{self.listen['simulator']}"
        return {
            "rabbitmq": {"url": self.rabbitmq},
            "redis": {"url": self.redis},
            "ledger": {"url": self.ledger, "keysFile": "ledger-keys.json"},
            "publishers": {"folder": "publishers"},
            "appStore": {
                "productionURL": f"{app_store}/production",
                "sandboxURL": f"{app_store}/sandbox",
                "rootFiles": [str(self.simulator / "root.der")],
                "caFile": str(self.tls_authority),
            },
            "gateway": {"listen": self.listen["gateway"]},
            "worker": {"listen": self.listen["worker 1"]},
            "notifier": {"listen": self.listen["notifier"], "allowsInsecureEndpoints": True,
                         "allowedNetworks": ["127.0.0.0/8", "::1/128"]},
            "console": {"listen": self.listen.get("console", "127.0.0.1:8090"),
                        "usersFile": self.console_users_file.name, "playsLives": True},
            "simulator": {
                "listen": self.listen["simulator"],
                "folder": str(self.simulator),
                "apps": [":".join(str(value) for value in SIMULATED_APP.values())],
                "notifications": {"urls": [f"http://{self.listen['gateway']}/apple/notifications"]},
            },
            "shutdownGraceSeconds": 2,  # after Ctrl-C, nobody wants to wait for a job
        }

    def publisher(self):
        return {
            "publisherId": PUBLISHER,
            "customers": "registered",
            "tokenHashes": [sha256(self.publisher_token)],
            "customerTokens": {"algorithm": "HS256", "secretFile": "../customer-token.secret"},
            "apps": [SIMULATED_APP | {
                "privateKeyFile": str(self.simulator / f"AuthKey_{SIMULATED_APP['keyId']}.p8"),
                "environments": ["Production", "Sandbox"],
            }],
            "sandboxAccess": "everybody",  # a purchase of the simulator's scenario 121 is from the sandbox
            "offers": OFFERS,
            "doors": {
                "cleeng": {"enabled": True},
                "iaptic": {
                    "enabled": True,
                    "appName": SIMULATED_APP["bundleId"],
                    "apiKeyHashes": [sha256(self.iaptic_api_key)],
                    "secretKeyHashes": [sha256(self.iaptic_secret_key)],
                },
                "playfab": {"enabled": True},
                "mbaasy": {
                    "enabled": True,
                    "clientTokens": [
                        {"bundleId": SIMULATED_APP["bundleId"], "tokenHash": sha256(self.mbaasy_client_token)},
                    ],
                },
            },
            "webhooks": [{
                "id": "receiver",
                "url": f"http://{self.listen['receiver']}/webhooks",
                "secretFile": "../webhook.secret",
            }],
        }

    def environment(self, listen):
        """The variables of a role: those of the caller, without proxies and without those that this run sets."""
        kept = {
            key: value for key, value in os.environ.items()
            if not key.lower().endswith("_proxy") and not key.startswith(PRIVATE)
        }
        return kept | listen

    @staticmethod
    def ignored():
        """The caller's variables that would configure a role, but that this private run ignores."""
        own = ("COUNTERSIGN_GATEWAY_LISTEN", "COUNTERSIGN_TEST", "COUNTERSIGN_FIXTURES")
        return sorted(key for key in os.environ if key.startswith(PRIVATE) and not key.startswith(own))

    def client(self, received):
        """The values that a client of the public contract needs, for ops/examples/client.py."""
        return {
            "API_URL": f"http://{self.listen['gateway']}",
            "SIMULATOR_URL": f"https://{self.listen['simulator']}",
            "SIMULATOR_CA": str(self.tls_authority),
            "AMQP_URL": self.rabbitmq,
            "REDIS_URL": self.redis,
            "DATABASE_URL": self.ledger,
            "PUBLISHER_ID": str(PUBLISHER),
            "PUBLISHER_TOKEN": self.publisher_token,
            "CUSTOMER_TOKEN_SECRET": self.customer_token_secret,
            "IAPTIC_APP_NAME": SIMULATED_APP["bundleId"],
            "IAPTIC_API_KEY": self.iaptic_api_key,
            "IAPTIC_SECRET_KEY": self.iaptic_secret_key,
            "PLAYFAB_SESSION_TICKET": self.customer_token(CUSTOMER, seconds=30 * 86_400),
            "MBAASY_CLIENT_TOKEN": self.mbaasy_client_token,
            "MBAASY_HMAC_KEY": self.mbaasy_hmac_key,
            "RECEIVER_URL": f"http://{self.listen['receiver']}",
            "WEBHOOK_SECRET": self.webhook_secret,
            "WEBHOOKS_RECEIVED": str(received),
        }
