<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FastCgiConnection;
use Sluice\Tests\Support\GatedPool;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** A worker outlives its refusals, and nothing of one request reaches the next. */
final class GateLifeTest extends TestCase
{
    private const RULES = <<<'TOML'
        [[gate.rule]]
        name = "closed"
        path = "/closed"
        limit = "0/h"
        answer = { status = 429, text = "refused", headers = { X-Refused = "yes" } }
        TOML;

    private const CODE = <<<'PHP'
        echo json_encode([
            getmypid(), $_POST, array_map(fn ($file) => file_get_contents($file['tmp_name']), $_FILES),
            file_get_contents('php://input'), http_response_code(), Sluice\Gate::rule(),
        ]);
        PHP;

    /** @dataProvider setups */
    public function testNothingOfARefusalReachesTheNextRequest(array $ini, bool $keepAlive): void
    {
        $gate = GatedPool::with(self::RULES, ini: $ini, code: self::CODE);
        $connection = $keepAlive ? new FastCgiConnection($gate->pool->listen()) : null;
        $pid = $gate->get('/', connection: $connection)->json()[0];
        for ($round = 0; $round < 300; $round++) {
            foreach (self::requests() as [$params, $body, $expected]) {
                $refused = $gate->get('/closed', $params, $body, $connection);
                $isHead = ($params['REQUEST_METHOD'] ?? '') === 'HEAD';
                self::assertSame([429, $isHead ? '' : 'refused'], [$refused->status, $refused->body]);
                self::assertSame('yes', $refused->headers['x-refused']);
            }
            [$params, $body, $expected] = self::requests()[$round % 5];
            $through = $gate->get('/open', $params, $body, $connection);
            self::assertSame(200, $through->status);
            self::assertArrayNotHasKey('x-refused', $through->headers);
            if (($params['REQUEST_METHOD'] ?? '') !== 'HEAD') {
                self::assertSame([$pid, ...$expected, 200, null], $through->json());
            }
        }
        self::assertSame('', self::withoutRefusals($gate->log()));
    }

    public static function setups(): iterable
    {
        foreach (['opcache' => [], 'no opcache' => ['opcache.enable' => '0']] as $name => $ini) {
            foreach (['keep-alive' => true, 'a connection each' => false] as $how => $keepAlive) {
                yield "{$name}, {$how}" => [$ini, $keepAlive];
            }
        }
    }

    /** Variables, body, and what the script sees of both. */
    private static function requests(): array
    {
        $form = 'a=1&b=' . str_repeat('x', 50_000);
        $multipart = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
            . "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nfile\r\n--X--\r\n";
        $post = ['REQUEST_METHOD' => 'POST'];
        return [
            [[], '', [[], [], '']],
            [['REQUEST_METHOD' => 'HEAD'], '', [[], [], '']],
            [
                $post + ['CONTENT_TYPE' => 'application/x-www-form-urlencoded'],
                $form,
                [['a' => '1', 'b' => str_repeat('x', 50_000)], [], $form],
            ],
            [$post + ['CONTENT_TYPE' => 'multipart/form-data; boundary=X'], $multipart, [['a' => '1'], ['f' => 'file'], '']],
            [$post + ['CONTENT_TYPE' => 'application/json'], '{"a":1}', [[], [], '{"a":1}']],
        ];
    }

    private static function withoutRefusals(string $log): string
    {
        return implode("\n", preg_grep('/the gate refused a request|^$/', explode("\n", $log), PREG_GREP_INVERT));
    }

    public function testABodyIsNeitherParsedNorWrittenBeforeARefusal(): void
    {
        $uploads = TempDir::make();
        $gate = GatedPool::with(self::RULES, ini: [
            'upload_tmp_dir' => $uploads->path,
            'upload_max_filesize' => '64M',
            'post_max_size' => '64M',
        ]);
        $body = "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n"
            . str_repeat('x', 5 << 20) . "\r\n--X--\r\n";
        $params = ['REQUEST_METHOD' => 'POST', 'CONTENT_TYPE' => 'multipart/form-data; boundary=X'];
        $mtime = filemtime($uploads->path);
        usleep(1_100_000);
        self::assertSame(429, $gate->get('/closed', $params, $body)->status);
        clearstatcache();
        self::assertSame($mtime, filemtime($uploads->path), 'a file was written');
        // The same upload, where nothing refuses it, leaves its trace.
        self::assertSame(200, $gate->get('/open', $params, $body)->status);
        clearstatcache();
        self::assertNotSame($mtime, filemtime($uploads->path));
    }

    public function testPreloadingAndPrependedFilesAreBehindTheGate(): void
    {
        $dir = TempDir::make();
        $preloaded = $dir->write('preload.php', '<?php function preloaded() { return "preloaded"; }');
        $prepended = $dir->write('prepend.php', '<?php echo "prepended ";');
        $appended = $dir->write('append.php', '<?php echo " appended";');
        $gate = GatedPool::with(self::RULES, ini: [
            'opcache.preload' => $preloaded,
            'opcache.preload_user' => posix_getpwuid(posix_geteuid())['name'],
            'auto_prepend_file' => $prepended,
            'auto_append_file' => $appended,
        ], code: 'echo preloaded();');
        foreach (range(1, 3) as $_) {
            $refused = $gate->get('/closed');
            self::assertSame([429, 'refused'], [$refused->status, $refused->body]);
            self::assertSame('prepended preloaded appended', $gate->get('/open')->body);
        }
    }

    public function testARefusalIsNotTouchedByOutputSettings(): void
    {
        $gate = GatedPool::with(self::RULES, ini: [
            'output_buffering' => '4096', 'implicit_flush' => '1', 'expose_php' => '0',
            'zlib.output_compression' => '1', 'session.auto_start' => '0',
        ]);
        $refused = $gate->get('/closed');
        self::assertSame([429, 'refused'], [$refused->status, $refused->body]);
        self::assertSame('through', $gate->get('/open')->body);
    }

    public function testAScriptThatIncludesFilesAndDiesIsLikeAnyOther(): void
    {
        $gate = GatedPool::with(self::RULES, ini: ['log_errors' => '0'], code: <<<'PHP'
            include 'data:text/plain,<?php ';
            match ($_GET['end'] ?? '') {
                'exit' => exit('gone'),
                'fatal' => nowhere(),
                'memory' => [ini_set('memory_limit', '2M'), str_repeat('x', 64 << 20)],
                default => print 'through',
            };
            PHP);
        foreach (['exit' => 200, 'fatal' => 500, 'memory' => 500, '' => 200] as $end => $status) {
            self::assertSame($status, $gate->status("/open?end={$end}"));
            self::assertSame(429, $gate->status('/closed'));
            self::assertSame('through', $gate->get('/open')->body);
        }
    }
}
