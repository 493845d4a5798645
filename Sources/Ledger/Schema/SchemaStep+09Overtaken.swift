extension SchemaStep {
  /// How a commit ends that another one has overtaken.
  static let nine = SchemaStep(
    number: 9, name: "overtaken",
    sql: """
      -- PostgreSQL's own error for two equal keys writes the key into the server's log, and a key may name a customer.
      CREATE FUNCTION refuse_overtaken() RETURNS boolean LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'another commit came first' USING ERRCODE = 'serialization_failure';
      END
      $$;
      """)
}
