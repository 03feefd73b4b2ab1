<?php
// So many megabytes.
header('Cache-Control: max-age=60');
for ($i = 0; $i < (int) $_GET['mb'] * 16; $i++) {
    echo str_repeat(chr(97 + $i % 26), 65536);
}
