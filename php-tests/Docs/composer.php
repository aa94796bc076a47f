<?php

declare(strict_types=1);

// What `composer` does for a reader in the tests, who cannot reach Packagist:
// vendor/autoload.php finds the library as it is here, the packages of Debian
// or of a checkout, and App\ in src/.

$packages = array_filter(array_slice($argv, 2), fn (string $word): bool => str_contains($word, '/'));
$root = var_export(dirname(__DIR__) . '/autoload.php', true);
$lines = [];
foreach (['SLIM_DIR' => 'slim/slim', 'SYMFONY_DIR' => 'symfony/framework-bundle'] as $variable => $package) {
    if (in_array($package, $packages, true) && getenv($variable)) {
        $lines[] = 'require ' . var_export(getenv($variable) . '/vendor/autoload.php', true) . ';';
    }
}
$debian = [
    'symfony/framework-bundle' => 'Symfony/Bundle/FrameworkBundle',
    'symfony/rate-limiter' => 'Symfony/Component/RateLimiter',
    'symfony/yaml' => 'Symfony/Component/Yaml',
];
foreach (getenv('SYMFONY_DIR') ? [] : array_intersect_key($debian, array_flip($packages)) as $directory) {
    $lines[] = "require_once '/usr/share/php/{$directory}/autoload.php';";
}
$file = getcwd() . '/vendor/autoload.php';
is_dir(dirname($file)) || mkdir(dirname($file), recursive: true);
$before = is_file($file) ? substr(file_get_contents($file), strlen("<?php\n")) : "require_once {$root};\n" . <<<'PHP'
    spl_autoload_register(function (string $class): void {
        $file = dirname(__DIR__) . '/src/' . strtr(substr($class, 4), '\\', '/') . '.php';
        if (str_starts_with($class, 'App\\') && is_file($file)) {
            require $file;
        }
    });

    PHP;
file_put_contents($file, "<?php\n{$before}" . implode("\n", $lines) . "\n");
