<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\TestCase;

/** The application that the other tests here run in. */
final class AppTest extends TestCase
{
    public function testItAnswersOverHttp(): void
    {
        $app = LaravelApp::make()->serve();

        $this->assertSame('Welcome', $app->get('/')->body);
        $this->assertSame(
            ['user' => '7', 'ip' => '192.0.2.1'],
            $app->get('/api/whoami', ['Authorization' => 'Bearer 7'], ip: '192.0.2.1')->json(),
        );
        $this->assertSame(404, $app->get('/nothing', ['Accept' => 'application/json'])->status);
        $this->assertStringContainsString('Not Found', $app->get('/nothing')->body);
        $this->assertSame('', $app->log());
    }

    public function testItHasACommandLine(): void
    {
        $result = LaravelApp::make()->artisan('--version');

        $this->assertSame('', $result->stderr);
        $this->assertStringContainsString(LaravelApp::version(), $result->stdout);
    }

    public function testItsConfigurationCanBeCached(): void
    {
        $app = LaravelApp::make(['APP_ENV' => 'staging']);

        $this->assertSame(0, $app->artisan('config:cache')->exitCode);
        $app->write('.env', '');
        $this->assertSame('staging', $app->code('echo json_encode($app->environment());')->json());
    }
}
