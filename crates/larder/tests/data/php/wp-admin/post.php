<?php
// Saves a post, and tells the cache.

require __DIR__ . '/../site.php';

nocache();
if (user() === null) {
    http_response_code(403);
    return;
}
$posts = posts();
$posts[$_POST['post']] = ['title' => $_POST['title'], 'text' => $_POST['text']];
remember('posts', $posts);
purge('/', "/{$_POST['post']}/", '/feed/');
header("Location: /{$_POST['post']}/");
