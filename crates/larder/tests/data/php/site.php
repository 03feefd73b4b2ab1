<?php
// What the pages of this small site share. It behaves as WordPress does where a cache can tell the difference: its cookies,
// its headers, its addresses. What it remembers lies in the folder SITE_STATE.

function state(string $name, $default = null)
{
    $file = $_SERVER['SITE_STATE'] . "/$name.json";
    return is_file($file) ? json_decode(file_get_contents($file), true) : $default;
}

function remember(string $name, $value): void
{
    file_put_contents($_SERVER['SITE_STATE'] . "/$name.json", json_encode($value), LOCK_EX);
}

/** How often scripts have run, this time included. */
function runs(): int
{
    $file = fopen($_SERVER['SITE_STATE'] . '/runs', 'c+');
    flock($file, LOCK_EX);
    $runs = (int) fgets($file) + 1;
    rewind($file);
    fwrite($file, (string) $runs);
    fclose($file);
    return $runs;
}

/** Who is logged in. */
function user(): ?string
{
    return $_COOKIE['wordpress_logged_in_5f2a'] ?? null;
}

/** WordPress's nocache_headers(). */
function nocache(): void
{
    header('Expires: Wed, 11 Jan 1984 05:00:00 GMT');
    header('Cache-Control: no-cache, must-revalidate, max-age=0, no-store, private');
}

function posts(): array
{
    return state('posts', [
        'hello-world' => ['title' => 'Hello world', 'text' => 'The first post.'],
        'secret' => ['title' => 'Secret', 'text' => 'The hidden text.', 'password' => 'open'],
        'draft' => ['title' => 'Draft', 'text' => 'Nobody has seen this.', 'status' => 'draft'],
    ]);
}

/** A page in the site's theme, which greets whoever it knows. */
function page(string $title, string $content): void
{
    $run = runs();
    header('Content-Type: text/html; charset=UTF-8');
    header('Link: </wp-json/>; rel="https://api.w.org/"');
    $user = user();
    if ($user !== null) {
        nocache();
    }
    $bar = $user === null ? '' : "<div id='wpadminbar'>Howdy, $user</div>";
    $author = $_COOKIE['comment_author_5f2a'] ?? '';
    $basket = count(basket());
    echo "<!DOCTYPE html><title>$title</title><link rel='stylesheet' href='/wp-content/themes/style.css'>$bar",
        "<h1>$title</h1>$content<form action='/wp-comments-post.php'><input name='author' value='$author'></form>",
        "<p class='basket'>$basket in the basket</p><!-- run $run -->\n";
}

/** What is in the visitor's basket. */
function basket(): array
{
    $session = $_COOKIE['wp_woocommerce_session_5f2a'] ?? '';
    return preg_match('/^[a-z0-9]+$/D', $session) ? state("basket-$session", []) : [];
}

/** Tells the cache what has changed, as a purge plug-in does. */
function purge(string ...$paths): void
{
    $larder = state('larder');
    foreach ($paths as $path) {
        $socket = stream_socket_client("tcp://$larder", $code, $text, 5);
        fwrite($socket, "PURGE $path HTTP/1.1\r\nHost: {$_SERVER['HTTP_HOST']}\r\nConnection: close\r\n\r\n");
        $answer = stream_get_contents($socket);
        if (!str_starts_with($answer, 'HTTP/1.1 200')) {
            error_log("not purged: $path");
        }
    }
}
