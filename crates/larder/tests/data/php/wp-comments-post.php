<?php
// Takes a comment, and remembers who wrote it.

require __DIR__ . '/site.php';

nocache();
$post = $_POST['post'];
remember("comments-$post", [...state("comments-$post", []), $_POST['comment']]);
setcookie('comment_author_5f2a', $_POST['author'], path: '/');
purge("/$post/");
header("Location: /$post/", true, 302);
