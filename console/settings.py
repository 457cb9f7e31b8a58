"""Settings, in reading order. Every variable is described in docs/configuration.md."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

from csp.constants import NONCE, NONE, SELF

from console.env import Env, SettingError

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env()

try:
    # --- Where state lives -------------------------------------------------------
    DATA_DIR = env.directory("DATA_DIR", BASE_DIR / "var")
    DATABASE_URL_DEFAULT = f"sqlite:///{DATA_DIR / 'bandmaster.sqlite3'}"
    database = env.database(DATABASE_URL_DEFAULT)
    BROKER_URL = env.text("BROKER_URL")  # empty = the file queue in DATA_DIR

    # --- Secrets -----------------------------------------------------------------
    # `up` keeps lasting ones in the data directory, for commands beside it too;
    # without any a process invents its own, which is right for tests and never lasts.
    KEPT_SECRETS = DATA_DIR / "secrets"
    SECRET_KEY = env.secret("SECRET_KEY", KEPT_SECRETS) or secrets.token_urlsafe(48)
    ENCRYPTION_KEY = env.secret("ENCRYPTION_KEY", KEPT_SECRETS) or SECRET_KEY
    EXTENDER_KEY = env.secret("EXTENDER_KEY", KEPT_SECRETS)

    # --- HTTP --------------------------------------------------------------------
    DEBUG = env.flag("DEBUG")
    HOST = env.text("HOST", "127.0.0.1")
    PORT = env.whole("PORT", 8000, low=1, high=65535)
    EXTENDER_PORT = env.whole("EXTENDER_PORT", 8001, low=1, high=65535)
    EXTENDER_URL = env.http_url("EXTENDER_URL") or f"http://127.0.0.1:{EXTENDER_PORT}"
    ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
    CSRF_TRUSTED_ORIGINS = env.words("TRUSTED_ORIGINS", [])
    TRUSTED_PROXY = env.flag("TRUSTED_PROXY")

    # --- The cluster -------------------------------------------------------------
    CLUSTER = env.text("CLUSTER", "default")
    PROMETHEUS_URL = env.http_url("PROMETHEUS_URL")
    PROMETHEUS_SELECTOR = env.text("PROMETHEUS_SELECTOR")
    KUBECONFIG = env.text("KUBECONFIG")  # a path; empty = in-cluster or simulated
    SIMULATED = env.flag("SIMULATED")  # set by `up` when it runs the simulator
    TICK_SECONDS = env.whole("TICK_SECONDS", 15, low=1, high=3600)
    WINDOW_SECONDS = env.whole("WINDOW_SECONDS", 60, low=5, high=3600)
    NEUTRAL = env.text("NEUTRAL")  # the kill switch: any text is the reason

    # --- People ------------------------------------------------------------------
    ADMIN_PASSWORD_FILE = env.text("ADMIN_PASSWORD_FILE")
    TIME_ZONE = env.zone("TIME_ZONE", "UTC")
    LOG_FORMAT = env.choice("LOG_FORMAT", "text", ("text", "json"))
    LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
except SettingError as problem:
    sys.stderr.write(f"bandmaster: {problem}\n")
    sys.exit(2)

# --- Applications ----------------------------------------------------------------
INSTALLED_APPS = [
    "console.apps.ConsoleConfig",
    "scoring.apps.ScoringConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "axes",
    "csp",
    "django_structlog",
]
MIDDLEWARE = [
    "console.views.gates.probes",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.views.gates.password_change",
    "django_structlog.middlewares.RequestMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"
AUTH_USER_MODEL = "console.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Database --------------------------------------------------------------------
if str(database["ENGINE"]).endswith("sqlite3"):
    # WAL and IMMEDIATE: with the defaults a writer that meets readers starves.
    # auto_vacuum comes first: it cannot be set once WAL has made the file.
    database_options: dict[str, Any] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": (
            "PRAGMA auto_vacuum=INCREMENTAL;"
            "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;"
        ),
    }
else:
    database_options = {
        "connect_timeout": 3,
        "pool": {"min_size": 1, "max_size": 4, "timeout": 5},
    }
# what the URL asks for, such as sslmode, wins
database["OPTIONS"] = database_options | database.get("OPTIONS", {})
DATABASES = {"default": database}

# --- Templates and static files --------------------------------------------------
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "console.views.shell.shell",
            ],
        },
    }
]
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = None
# finders serve what is not collected: no command has to run before the first page
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0 if DEBUG else 3600

# --- Security --------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "form-action": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "console.views.faults.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
if TRUSTED_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "console/locked_out.html"
AXES_VERBOSE = False
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# --- API -------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication"
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Bandmaster",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
}

# --- Language and time -----------------------------------------------------------
LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True

# --- Logging ---------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "console.logs.JsonFormatter"},
    },
    "filters": {"refusals": {"()": "console.logs.Refusals"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["refusals"],
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "axes": {"level": "WARNING"},
        "django_structlog": {"level": "WARNING"},
        # each attempt in several lines; who needed the database says it in one
        "psycopg.pool": {"level": "ERROR"},
    },
}
