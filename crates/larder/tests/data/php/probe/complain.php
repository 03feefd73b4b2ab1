<?php
// Writes to its log.
header('Cache-Control: no-store');
error_log($_GET['text']);
echo 'said';
