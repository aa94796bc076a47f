<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** A configuration that is wrong says what, what is allowed, and what was given. */
final class SettingsTest extends LaravelTestCase
{
    public function testWhatIsWrongIsSaid(): void
    {
        $wrongs = [
            ['headers' => 'larvel'], ['groups' => ['api' => ['tiers']]], ['policies' => '5/m'], ['message' => 5],
            ['allow' => ['users' => [1.5]]], ['allow' => ['networks' => [10]]], ['allow' => ['networks' => ['10.0.0.0/99']]],
            ['allow' => ['callback' => 'App\Nowhere']], ['responder' => 'App\Models\User'], ['log' => ['interval' => 0]],
            ['log' => ['channel' => true]],
        ];
        $errors = [];
        foreach ($wrongs as $wrong) {
            $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:deny');", $wrong);
            $errors[] = $app->code(<<<'PHP'
                $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);
                $app->make(Illuminate\Contracts\Config\Repository::class);
                $response = $kernel->handle(Illuminate\Http\Request::create('/api/a'));
                echo json_encode($response->exception ? $response->exception->getMessage() : $response->getStatusCode());
                PHP);
        }
        $seen = array_map(static fn ($result): string => (string) json_decode($result->stdout), $errors);
        self::assertSame([
            'config/sluice.php: "headers" must be "laravel", "standard" or "none"; \'larvel\' given',
            '',
            'config/sluice.php: "policies" must be an array; \'5/m\' given',
            'config/sluice.php: "message" must be text; 5 given',
            'config/sluice.php: "allow.users" must be a list of identifiers; 1.5 given',
            'config/sluice.php: "allow.networks" must be addresses and networks, such as "10.0.0.0/8"; 10 given',
            'Sluice\Networks::__construct(): Argument #1 ($networks) takes an address or a network such as 10.0.0.0/8, '
                . 'or "unix"; found "10.0.0.0/99"',
            'config/sluice.php: "allow.callback" must be the name of a class with a method __invoke(); \'App\\\\Nowhere\' given',
            'config/sluice.php: "responder" must be the name of a class with a method __invoke(); \'App\\\\Models\\\\User\' given',
            'config/sluice.php: "log.interval" must be a number of seconds above 0; 0 given',
            'config/sluice.php: "log.channel" must be text; true given',
        ], $seen);
        self::assertStringContainsString('"groups" must be the name of a policy for each group', $errors[1]->stdout . $errors[1]->stderr);
    }
}
