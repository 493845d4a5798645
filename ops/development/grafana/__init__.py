"""The dashboards of ops/grafana: their description, the checks, and the pictures of docs/operate/dashboards.md."""
