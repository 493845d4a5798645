/// A view of the schema `reporting`, by its name (docs/reference/reporting.md).
public enum ReportingView: String, CaseIterable, Sendable {
  case purchases, periods, refunds, entitlements
  case eventsByDay = "events_by_day"
}
