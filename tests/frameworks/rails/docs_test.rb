# docs/frameworks/rails.md: its migration and model, in a new database on the server of psql's environment. The first
# argument is the directory of the page's code.
require "active_record"
require "json"
require "minitest/autorun"
require "pg"

PAGE = ARGV.shift
DATABASE = "rails"
PG.connect(dbname: "postgres") do |connection|
  connection.exec("DROP DATABASE IF EXISTS #{DATABASE}")
  connection.exec("CREATE DATABASE #{DATABASE}")
end
ActiveRecord::Base.establish_connection(adapter: "postgresql", database: DATABASE, min_messages: "warning")
ActiveRecord::Migration.verbose = false
require "#{PAGE}/db/migrate/20261123000000_create_docs"
require "#{PAGE}/app/models/doc"

class DocTest < Minitest::Test
  WORDS = (0...600).map { |number| "word#{number}" }
  TEXT = WORDS.join(" ")
  NEAR = [*WORDS[0..-2], "another"].join(" ")
  OTHER = WORDS.map { |word| word * 2 }.join(" ")

  def setup
    CreateDocs.new.migrate(:up)
    Doc.reset_column_information
  end

  def teardown
    CreateDocs.new.migrate(:down)
  end

  def test_reject
    assert_equal 1, Doc.store(url: "/a", body: TEXT).id
    found = Doc.store(url: "/b", body: NEAR)
    # Of 601 words and 600 pairs of neighbours, 599 and 598 are in both.
    assert_equal({ "key" => { "id" => 1 }, "resemblance" => 0.997 }, found)
    assert_raises(ActiveRecord::RecordNotUnique) { Doc.store(url: "/a", body: OTHER) }
  end

  def test_other_exclusion_constraints
    Doc.connection.execute("ALTER TABLE docs ADD EXCLUDE (length(url) WITH =)")
    Doc.store(url: "/a", body: TEXT)
    error = assert_raises(ActiveRecord::StatementInvalid) { Doc.store(url: "/b", body: OTHER) }
    assert_kind_of PG::ExclusionViolation, error.cause
  end

  def test_reject_in_a_transaction
    Doc.transaction do
      Doc.store(url: "/a", body: TEXT)
      Doc.store(url: "/b", body: NEAR)
      Doc.store(url: "/c", body: OTHER)
    end
    assert_equal %w[/a /c], Doc.order(:id).pluck(:url)
  end

  def test_reject_many
    rows = [{ url: "/a", body: TEXT }, { url: "/b", body: NEAR }]
    assert_raises(ActiveRecord::StatementInvalid) { Doc.insert_all!(rows) }
    assert_raises(ActiveRecord::StatementInvalid) { Doc.insert_all(rows) }
    assert_equal 0, Doc.count
  end

  def test_skip
    Doc.connection.execute("SELECT simhash_guard('docs', 'skip')")
    Doc.store(url: "/a", body: TEXT)
    doc = Doc.store(url: "/b", body: NEAR)
    assert_nil doc.id
    assert doc.persisted?
    assert_equal 1, Doc.insert_all([{ url: "/c", body: NEAR }, { url: "/d", body: OTHER }]).length
    assert_equal %w[/a /d], Doc.order(:id).pluck(:url)
  end

  def test_search
    Doc.connection.execute("SELECT simhash_unguard('docs')")
    Doc.connection.execute(<<~SQL)
      INSERT INTO docs (url, body)
      SELECT '/' || doc, string_agg(substr(md5(doc || ' ' || word), 1, 8), ' ' ORDER BY word)
      FROM generate_series(1, 5000) AS doc, generate_series(1, 200) AS word GROUP BY doc ORDER BY doc;
      ANALYZE docs
    SQL
    body = Doc.find(42).body
    assert_equal [42], Doc.near(body.upcase).pluck(:id)
    assert_match(/SimhashScan/, Doc.near(body).explain.inspect)
    # Ruby's integers hold a fingerprint.
    fingerprint = Doc.connection.select_value("SELECT simhash(body) FROM docs WHERE id = 42")
    assert_equal [42], Doc.where("simhash(body) = ?", fingerprint).pluck(:id)
  end
end
