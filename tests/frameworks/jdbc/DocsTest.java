import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Tests the class Docs of docs/frameworks/jdbc.md, in the database at the URL in the variable JDBC. */
class DocsTest {
    private static final List<String> WORDS =
            IntStream.range(0, 600).mapToObj(number -> "word" + number).collect(Collectors.toList());
    private static final String TEXT = String.join(" ", WORDS);
    private static final String NEAR = String.join(" ", WORDS.subList(0, 599)) + " another";
    private static final String UNRELATED = WORDS.stream().map(word -> word + word).collect(Collectors.joining(" "));

    private final Connection connection;
    private final Docs docs;

    DocsTest(Connection connection) throws SQLException {
        this.connection = connection;
        docs = new Docs(connection);
    }

    public static void main(String[] arguments) throws Exception {
        try (var connection = DriverManager.getConnection(System.getenv("JDBC"))) {
            var test = new DocsTest(connection);
            test.execute("CREATE EXTENSION pg_simhash");
            test.execute("CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)");
            test.execute("SELECT simhash_index('docs', 'body'), simhash_guard('docs')");
            test.testReject();
            test.testOtherError();
            test.testRollbackToSavepoint();
            test.testSearch();
            test.testSkip();
        }
        System.out.println("JDBC: ok");
    }

    static void assertEqual(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError("expected " + expected + ", not " + actual);
        }
    }

    void execute(String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    String queryValue(String sql) throws SQLException {
        try (var statement = connection.createStatement(); var rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    /** The error of an insertion. */
    <E extends Exception> E assertFails(Class<E> type, String body) throws Exception {
        try {
            docs.insert(body);
        } catch (Exception error) {
            if (type.isInstance(error)) {
                return type.cast(error);
            }
            throw error;
        }
        throw new AssertionError("no error");
    }

    void assertRefused(String body) throws Exception {
        // Of 601 words and 600 pairs of neighbours, 599 and 598 are in both.
        var expected = "\\{\"key\": ?\\{\"id\": ?1\\}, ?\"resemblance\": ?0\\.997\\}";
        assertEqual(true, assertFails(Docs.NearDuplicate.class, body).getMessage().matches(expected));
    }

    void assertFindsFirst(String condition, Object value) throws SQLException {
        try (var statement = connection.prepareStatement("SELECT id FROM docs WHERE " + condition)) {
            statement.setObject(1, value);
            try (var rows = statement.executeQuery()) {
                assertEqual(true, rows.next());
                assertEqual(1L, rows.getLong("id"));
            }
        }
    }

    void testReject() throws Exception {
        assertEqual(1L, docs.insert(TEXT));
        assertRefused(NEAR);
        docs.insert(UNRELATED);
    }

    void testOtherError() throws Exception {
        assertEqual("23502", assertFails(SQLException.class, null).getSQLState());
    }

    void testRollbackToSavepoint() throws Exception {
        connection.setAutoCommit(false);
        var savepoint = connection.setSavepoint();
        assertRefused(NEAR);
        connection.rollback(savepoint);
        assertEqual("2", queryValue("SELECT count(*) FROM docs"));
        connection.commit();
        connection.setAutoCommit(true);
    }

    void testSearch() throws SQLException {
        assertFindsFirst("simhash_near(body, ?)", TEXT.toUpperCase());
        // A Java long has the bits of a fingerprint.
        var fingerprint = Long.parseLong(queryValue("SELECT simhash(body) FROM docs WHERE id = 1"));
        assertFindsFirst("simhash(body) = ?", fingerprint);
    }

    void testSkip() throws SQLException {
        execute("TRUNCATE docs");
        execute("SELECT simhash_guard('docs', 'skip')");
        try (var statement =
                connection.prepareStatement("INSERT INTO docs (body) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
            statement.setString(1, TEXT);
            assertEqual(1, statement.executeUpdate());
            statement.setString(1, NEAR);
            assertEqual(0, statement.executeUpdate());
            for (var body : List.of(NEAR, UNRELATED)) {
                statement.setString(1, body);
                statement.addBatch();
            }
            assertEqual("[0, 1]", Arrays.toString(statement.executeBatch()));
            try (var keys = statement.getGeneratedKeys()) {
                assertEqual(true, keys.next());
                assertEqual(false, keys.next());
            }
        }
    }
}
