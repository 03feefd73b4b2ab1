<?php
// Answers when it is let go, and says whether it was given up before.
require __DIR__ . '/../site.php';
header('Cache-Control: no-store');
$name = $_GET['name'];
$folder = $_SERVER['SITE_STATE'];
register_shutdown_function(fn () => touch("$folder/$name." . (connection_aborted() ? 'aborted' : 'done')));
touch("$folder/$name.begun");
while (!file_exists("$folder/$name.go")) {
    usleep(5000);
    if (isset($_GET['talks'])) {
        echo str_repeat('.', 8192);
        flush();
    }
}
echo 'let go';
