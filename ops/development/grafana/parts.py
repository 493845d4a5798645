"""Rows that every role's dashboard has: the servers that it leans on, its configuration, and its process."""
from development.grafana.model import Panel, Query, Row, Stat, grown, rate


def alive(role, consequence):
    """How many processes of a role answer."""
    return Stat(f"{role} that answer", f"Processes that Prometheus reaches. Fewer than you run: {consequence}", [
        Query("sum(up{@})")], alert="CountersignRoleDown")


def leans_on(*more):
    return Row("What it leans on", [
        Panel("Connections that are up",
              "1 is up, 0 is down; the worst process counts. A line at 0 names the server to look at first. A RabbitMQ "
              "that is short of memory or disk has `publish` at 0.", [
                  Query("min by (connection) (countersign_connection_up{@})", "{{connection}}")],
              alert="CountersignConnectionDown", others=("CountersignLedgerAway",), most=1),
        Panel("Connections lost, a second",
              "Also those that could not be opened. A steady rate points at the network, or at a server that restarts.",
              [Query(rate("countersign_connection_losses_total", "connection"), "{{connection}}")],
              runbook="connection-down"),
        Panel("Redis",
              "More than 0: Redis refuses writes with that error, so nothing can be claimed or finished; or it may "
              "delete keys when it is full.", [
                  Query("max by (error) (countersign_redis_writes_refused{@})", "refuses: {{error}}"),
                  Query("max(countersign_redis_evicts{@})", "may evict")],
              alert="CountersignRedisRefusesWrites", others=("CountersignRedisEvicts",), most=1),
        *more], closed=True)


def configuration():
    return [
        Panel("Files that are refused",
              "More than 0: a changed file has a mistake. The process goes on with the old one, or without a "
              "publisher (`absent`), whose callers then get 503.", [
                  Query("max(1 - countersign_configuration_current{@})", "configuration"),
                  Query("max by (state) (countersign_publishers_broken{@})", "publisher: {{state}}")],
              alert="CountersignPublisherAbsent",
              others=("CountersignPublisherFileBroken", "CountersignConfigurationRefused")),
        Panel("Changed files, a minute", "Each process counts each change once. `refused` needs you.", [
            Query("60 * " + rate("countersign_configuration_reloads_total", "outcome"), "{{outcome}}")],
            runbook="configuration-refused"),
    ]


def process(*more):
    return Row("Its processes", [
        Panel("Processor, cores",
              "A process uses one core at most. Near 1, everything in it waits: start another process.", [
                  Query("rate(countersign_process_cpu_seconds_total{@}[$__rate_interval])", "{{instance}}")],
              bound=0.8, runbook="jobs-wait"),
        Panel("Memory",
              "Resident memory. It follows what is in hand, and falls again. A line that only grows is a leak: report "
              "it.", [Query("countersign_process_resident_memory_bytes{@}", "{{instance}}")], unit="bytes"),
        Panel("Longest turns of the loop, 99 of 100",
              "A process does all its work piece by piece. While one piece runs, all else in that process waits.", [
                  Query("histogram_quantile(0.99, sum by (instance, le) "
                        "(rate(countersign_loop_turn_seconds_bucket{@}[$__rate_interval])))", "{{instance}}")],
              unit="s", alert="CountersignLoopStalls"),
        Stat("Standstills, 15 minutes", "Turns of the loop of more than a second.", [
            Query(grown("countersign_loop_stalls_total", "15m"))], alert="CountersignLoopStalls", which=0),
        Stat("Log lines dropped, 15 minutes",
             "Nobody reads the log fast enough. The work goes on, but you are blind.",
             [Query(grown("countersign_log_lines_dropped_total", "15m"))], alert="CountersignLogLinesDropped"),
        *more,
        Panel("Spans of traces, by what became of them",
              "`failed` and `dropped`: look at the collector. Nothing else is affected.", [
                  Query(rate("countersign_spans_total", "outcome"), "{{outcome}}")], unit="ops", height=5),
    ], closed=True)


def given_out_again():
    return Stat(
        "Given out again, 15 minutes",
        "Messages whose process ended, or lost its connection, before it was done. A few at a deployment are normal.",
        [Query(grown("countersign_redeliveries_total", "15m"))], alert="CountersignProcessesDie")
