import Testing

@testable import Ledger

/// The statements of a text of SQL.
struct SQLScriptTests {
  @Test(
    arguments: [
      ("", []), (" \n; ;", []), ("A", ["A"]), ("A;B", ["A", "B"]), (" A b \n ; \n B;\n", ["A b", "B"]),
      ("-- one; two\nA; -- don't\nB;-- end", ["-- one; two\nA", "-- don't\nB"]),
      ("/* one; ' */ A; B /* ; */;", ["/* one; ' */ A", "B /* ; */"]), ("-- only; this\n/* ; */", []),
      ("A ';--' B; C", ["A ';--' B", "C"]), ("A 'it''s; one'; B", ["A 'it''s; one'", "B"]),
      ("A \"a;b\" ; B", ["A \"a;b\"", "B"]), ("A $$ x; ' $$; B", ["A $$ x; ' $$", "B"]),
      ("A $do$ x; $$ ; $do$; B", ["A $do$ x; $$ ; $do$", "B"]), ("A $1; B $2", ["A $1", "B $2"]),
      ("A 'open; B", ["A 'open; B"]), ("A -- open; B", ["A -- open; B"]), ("A /* open; B", ["A /* open; B"]),
    ] as [(String, [String])])
  func statements(text: String, statements: [String]) {
    #expect(SQLScript.statements(text) == statements)
  }

  /// Every statement of the steps creates something; a split in the wrong place would not begin so.
  @Test func stepsOfThisBuild() throws {
    for step in SchemaStep.all {
      let statements = SQLScript.statements(step.sql)
      #expect(statements.count > 20 || step.number > 1)
      for statement in statements {
        let code = statement.split(separator: "\n").first { !$0.hasPrefix("--") }
        #expect(try #require(code).firstMatch(of: #/^(CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|GRANT) /#) != nil)
      }
    }
  }
}
