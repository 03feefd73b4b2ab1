<?php
// Where things are. The folder of articles is written to by PHP.
return [
    'articles' => __DIR__ . '/articles',
    'larder' => 'http://127.0.0.1:9180',
];
