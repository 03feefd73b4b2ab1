<?php
// A page as WordPress makes it: 150 ms for the database and the plug-ins, and about 30 KB of HTML. It says nothing of caching, and the
// time at which it was made.
usleep(150000);
header("X-Made: " . microtime(true));
echo "<!doctype html><html><head><title>Blog</title></head><body>\n";
for ($number = 0; $number < 60; $number++) {
    $text = str_repeat(sprintf("Sentence %d of the article %s. ", $number, md5((string) $number)), 9);
    echo "<article><h2>Article $number</h2><p>$text</p></article>\n";
}
echo "</body></html>\n";
