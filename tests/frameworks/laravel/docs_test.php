<?php
// docs/frameworks/laravel.md: its migration and model, in a new database on the server of psql's environment. The first
// argument is the directory of the page's code.
use App\Models\Doc;
use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\QueryException;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Facade;

require 'Illuminate/Database/autoload.php';

// Laravel makes errors of warnings, and not of what is deprecated.
error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);
set_error_handler(function ($level, $message, $file, $line) {
    if (error_reporting() & $level) {
        throw new ErrorException($message, 0, $level, $file, $line);
    }
});

function same($expected, $actual): void
{
    if ($expected !== $actual) {
        throw new Exception('expected ' . var_export($expected, true) . ', not ' . var_export($actual, true));
    }
}

/** The error that the call throws. */
function thrown(callable $call): Throwable
{
    try {
        $call();
    } catch (Throwable $error) {
        return $error;
    }
    throw new Exception('no error');
}

function connect(string $database): void
{
    $container = new Container();
    $manager = new Manager($container);
    $manager->addConnection([
        'driver' => 'pgsql',
        'host' => getenv('PGHOST'),
        'port' => getenv('PGPORT'),
        'username' => getenv('PGUSER'),
        'database' => $database,
    ]);
    $manager->bootEloquent();
    $container->instance('db', $manager->getDatabaseManager());
    $container->bind('db.schema', fn () => $manager->getConnection()->getSchemaBuilder());
    Facade::setFacadeApplication($container);
    Facade::clearResolvedInstances();
}

connect('postgres');
DB::statement('DROP DATABASE IF EXISTS laravel');
DB::statement('CREATE DATABASE laravel');
connect('laravel');
(require "$argv[1]/database/migrations/2026_11_23_000000_create_docs_table.php")->up();
require "$argv[1]/app/Models/Doc.php";

$words = array_map(fn ($number) => "word$number", range(0, 599));
$text = implode(' ', $words);
$near = implode(' ', array_slice($words, 0, 599)) . ' another';
$other = implode(' ', array_map(fn ($word) => $word . $word, $words));

// reject, in a transaction that goes on
$doc = Doc::store(['body' => $text]);
same([1, true], [$doc->id, $doc->wasRecentlyCreated]);
DB::transaction(function () use ($near, $other) {
    $found = Doc::store(['body' => $near]);
    same([1, false], [$found->id, $found->wasRecentlyCreated]);
    Doc::store(['body' => $other]);
});
same([$text, $other], Doc::orderBy('id')->pluck('body')->all());
same('23P01', thrown(fn () => Doc::insertOrIgnore(['body' => $near]))->getCode());
DB::statement('ALTER TABLE docs ADD CONSTRAINT lengths EXCLUDE (length(body) WITH =)');
same(QueryException::class, get_class(thrown(fn () => Doc::store(['body' => strtr($other, 'w', 's')]))));
DB::statement('ALTER TABLE docs DROP CONSTRAINT lengths');
if (method_exists(Illuminate\Database\Eloquent\Builder::class, 'createOrFirst')) {
    same(QueryException::class, get_class(thrown(fn () => Doc::createOrFirst(['body' => $near]))));
}

// search
DB::statement("SELECT simhash_unguard('docs')");
$copied = Doc::store(['body' => $near]);
same([$copied->id, 1], Doc::near(strtoupper($near))->pluck('id')->all());
$fingerprint = DB::selectOne('SELECT simhash(body) FROM docs WHERE id = 1')->simhash;
same(1, DB::selectOne('SELECT id FROM docs WHERE simhash(body) = ?', [$fingerprint])->id);

// skip
Doc::truncate();
DB::statement("SELECT simhash_guard('docs', 'skip')");
Doc::create(['body' => $text]);
$error = thrown(fn () => Doc::create(['body' => $near]));
same([ErrorException::class, 'Undefined array key 0'], [get_class($error), $error->getMessage()]);
same(true, Doc::insert(['body' => $near]));
same(1, Doc::insertOrIgnore([['body' => $near], ['body' => $other]]));
same([$text, $other], Doc::orderBy('id')->pluck('body')->all());

echo "Laravel: ok\n";
