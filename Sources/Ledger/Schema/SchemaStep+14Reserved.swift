extension SchemaStep {
  /// Holds the place of a step that is written elsewhere at the same time. It creates nothing.
  static let fourteen = SchemaStep(number: 14, name: "reserved", sql: "DROP TABLE IF EXISTS reserved_for_step_14;")
}
