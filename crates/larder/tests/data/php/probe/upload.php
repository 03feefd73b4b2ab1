<?php
// How much was sent, and what.
$in = fopen('php://input', 'r');
$hash = hash_init('md5');
$length = 0;
while (($piece = fread($in, 65536)) !== '' && $piece !== false) {
    $length += strlen($piece);
    hash_update($hash, $piece);
}
echo $length, ' ', hash_final($hash);
