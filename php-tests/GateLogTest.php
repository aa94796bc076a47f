<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\GatedPool;
use Sluice\Tests\Support\TestCase;

/** Refusals are told, and a flood of them is not. */
final class GateLogTest extends TestCase
{
    public function testARefusalIsToldOncePerKeyHoweverManyWorkersRefuse(): void
    {
        $gate = GatedPool::with(
            "[limits]\nfew = \"1/h\"\n[[gate.rule]]\nname = \"r\"\nkey = [\"ip\", \"path\"]\nlimit = \"few\"\n",
            workers: 4,
        );
        foreach (range(1, 20) as $_) {
            $requests = array_map(fn () => $gate->send('/a'), range(1, 4));
            array_map(fn ($request) => $request->response(), $requests);
            $gate->get('/b');
        }
        $lines = array_filter(explode("\n", $gate->log()));
        self::assertCount(2, $lines, $gate->log());
        self::assertMatchesRegularExpression(
            '/sluice: the gate refused a request: rule r, policy few, key "ip,path=11:203\.0\.113\.7,2:\/a", '
                . '0 of 1 left, again in 3(600|5\d\d) s$/',
            $lines[0],
        );
    }

    public function testManyAddressesDoNotFillTheDisk(): void
    {
        $gate = GatedPool::with("[[gate.rule]]\nname = \"r\"\nkey = \"ip\"\nlimit = \"0/h\"\n");
        foreach (range(1, 250) as $client) {
            $gate->get('/', ['REMOTE_ADDR' => "203.0.113.{$client}"]);
        }
        // Ten seconds may end in between.
        self::assertContains(substr_count($gate->log(), "\n"), range(100, 200));
    }

    public function testASecretIsNotTold(): void
    {
        $gate = GatedPool::with("[[gate.rule]]\nname = \"r\"\nkey = \"header:Authorization\"\nlimit = \"0/h\"\n");
        $gate->get('/', ['HTTP_AUTHORIZATION' => 'Bearer topsecret']);
        self::assertStringNotContainsString('topsecret', $gate->log());
        self::assertMatchesRegularExpression('/key header:authorization=#[0-9a-f]{12},/', $gate->log());
    }

    public function testAClientCannotWriteALineOfItsOwn(): void
    {
        $gate = GatedPool::with("[gate]\ndeny = { path = \"/x\", log = true }\n[[gate.rule]]\nname = \"r\"\nkey = \"path\"\nlimit = \"0/h\"\n");
        $gate->get('/%0AFATAL:%20%22all%20is%20lost');
        $gate->get("/x?\n\x1b[31m" . str_repeat('y', 5000));
        $lines = array_filter(explode("\n", $gate->log()));
        self::assertCount(2, $lines, $gate->log());
        self::assertStringContainsString('"path=/\nFATAL: \"all is lost"', $lines[0]);
        self::assertStringContainsString('\x1b[31m', $lines[1]);
        self::assertLessThan(600, strlen($lines[1]));
    }

    public function testEachPassIsToldIfAsked(): void
    {
        $list = 'allow = { path = "/health"';
        $rule = "[[gate.rule]]\nname = \"r\"\nlimit = \"9/h\"\n";
        $quiet = GatedPool::with("[gate]\n{$list} }\n{$rule}");
        $told = GatedPool::with("[gate]\n{$list}, log = true }\n{$rule}");
        self::assertSame([200, 200], [$quiet->status('/health'), $told->status('/health')]);
        self::assertSame(200, $told->status('/health'));
        self::assertSame('', $quiet->log());
        $line = 'let through a request: allow list, by its path, from "203.0.113.7", path "/health"';
        self::assertSame(2, substr_count($told->log(), $line), $told->log());
    }

    public function testAnUndeclaredProxyIsToldOnceAndItsClientsAreOnlyObserved(): void
    {
        $gate = GatedPool::with("[[gate.rule]]\nname = \"r\"\nkey = \"ip\"\nlimit = \"1/h\"\n", workers: 2);
        foreach (range(1, 10) as $client) {
            $ingress = ['REMOTE_ADDR' => '10.0.0.1', 'HTTP_X_FORWARDED_FOR' => "198.51.100.{$client}"];
            self::assertSame(200, $gate->status('/', $ingress));
        }
        self::assertSame(1, substr_count($gate->log(), 'say that they were forwarded'), $gate->log());
        self::assertStringContainsString('from "10.0.0.1"', $gate->log());
    }
}
