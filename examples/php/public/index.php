<?php
// A site of articles. Larder speaks FastCGI with php-fpm, keeps the pages, and hears from here when one has changed.
declare(strict_types=1);

$config = require __DIR__ . '/../config.php';

/** Larder may keep this page for a day, and ends it sooner when one of these tags is purged; browsers ask each time. */
function shared(string ...$tags): void
{
    header('Cache-Control: max-age=0, s-maxage=86400, stale-if-error=86400');
    header('Cache-Tag: ' . implode(',', $tags));
}

/** Tells Larder what has changed. When this returns, nobody gets the old pages any more. */
function purge(string $larder, string ...$tags): void
{
    $request = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => 'Content-Type: application/json',
        'content' => json_encode(['tags' => $tags]),
        'timeout' => 5,
    ]]);
    if (file_get_contents("$larder/purge", false, $request) === false) {
        error_log('not purged: ' . implode(', ', $tags));
    }
}

function page(string $title, string $content): void
{
    header('Content-Type: text/html; charset=UTF-8');
    echo "<!DOCTYPE html><title>$title</title><h1>$title</h1>\n$content\n";
}

/** Counts the requests that reached PHP: what the gain is measured by. */
function count_requests(string $file, int $more): int
{
    $open = fopen($file, 'c+');
    flock($open, LOCK_EX);
    $count = (int) stream_get_contents($open) + $more;
    rewind($open);
    fwrite($open, (string) $count);
    return $count;
}

// Not `parse_url`, which takes `//a/bread` for `/bread` of a host `a`: one page would have any number of addresses.
$path = strtok($_SERVER['REQUEST_URI'], '?');
$counter = "{$config['articles']}/requests";
if ($path === '/requests') {
    header('Cache-Control: no-store');
    echo count_requests($counter, 0);
    return;
}
count_requests($counter, 1);

if ($path === '/') {
    shared('articles');
    $items = array_map(
        fn ($file) => '<li>' . htmlspecialchars(trim(file_get_contents($file))) . '</li>',
        glob("{$config['articles']}/*.txt"),
    );
    page('Articles', '<ul>' . implode("\n", $items) . '</ul>');
    return;
}

$file = "{$config['articles']}$path.txt";
if (!preg_match('~^/[a-z]+$~D', $path) || !is_file($file)) {
    http_response_code(404);
    page('Not found', '');
    return;
}
$name = substr($path, 1);
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    file_put_contents($file, $_POST['title'], LOCK_EX);
    purge($config['larder'], 'articles', "article-$name");
    header("Location: $path", true, 303);
    return;
}
shared("article-$name");
page(htmlspecialchars(trim(file_get_contents($file))), "<form method='post'><input name='title'></form>");
