<?php

// What is not a DSN, and a part of what the message says about it.

return [
    'nothing' => ['', 'it has no scheme'],
    'a password alone' => ['hunter2', 'it has no scheme'],
    'no scheme' => [':hunter2@127.0.0.1:6379', 'it has no scheme'],
    'another scheme' => ['http://user:hunter2@host', 'its scheme is neither redis nor unix'],
    'several hosts and one server' => ['redis://:hunter2@host,other', 'redis+sentinel:// and redis+cluster://'],
    'Sentinels without a master' => ['redis+sentinel://:hunter2@host', 'it names no master'],
    'a database of a Cluster' => ['redis+cluster://:hunter2@host/1', 'a Cluster has only database 0'],
    'an option of TLS without it' => ['redis://:hunter2@host?ca=/ca.pem', 'ca goes with rediss'],
    'a verify that is no word of ours' => ['rediss://:hunter2@host?verify=hunter2', 'its verify must be yes or no'],
    'no host' => ['redis://:hunter2@', 'host'],
    'a path without a host' => ['redis:///hunter2', 'it names no host'],
    'a port that is no number' => ['redis://:hunter2@host:hunter2', 'port'],
    'a port too high' => ['redis://:hunter2@host:65536', 'port'],
    'a user alone' => ['redis://hunter2@host', 'a password alone is written :password@'],
    'a database that is no number' => ['redis://:hunter2@host/hunter2', 'its database must be a number from 0 on'],
    'a negative database' => ['redis://:hunter2@host/-1', 'its database must be a number from 0 on'],
    'an unknown option' => ['redis://:hunter2@host?tiemout=1s', '"tiemout", which is none of db, user, password'],
    'a time that is none' => ['redis://:hunter2@host?timeout=hunter2', 'its timeout must be a time from 1ms to 60s'],
    'a time too short' => ['redis://:hunter2@host?timeout=1us', 'its timeout must be a time from 1ms to 60s'],
    'a time too long' => ['redis://:hunter2@host?connect_timeout=61s', 'its connect_timeout must be a time from 1ms to 60s'],
    'a bare # in the password' => ['redis://:hun#hunter2@host', 'written as %40 %2F %3F %23 %25'],
    'a bare / in the password' => ['redis://:/hunter2@host', 'written as %40 %2F %3F %23 %25'],
    'a relative path' => ['unix://run/redis.sock?password=hunter2', 'it names no absolute path'],
    'a path with a NUL' => ['unix:///run/redis.sock%00?password=hunter2', 'it has a NUL in it'],
    'a host with a NUL' => ["redis://:hunter2@ho\0st", 'must be a DSN'],
    'bytes that are no text' => ["redis://:hunter2\xff@host", 'it is not UTF-8'],
];
