<?php

// Prints all that Reflection knows of the extension's surface, as JSON: of the
// extension itself or, if a file is given, of what that file declares. Each
// entry is "element: what there is to know of it".

declare(strict_types=1);

$stub = $argv[1] ?? null;
if ($stub !== null) {
    require $stub;
}

function flags(Reflector $reflector, string ...$names): string
{
    $set = array_filter($names, fn (string $name) => $reflector->{"is{$name}"}());
    return implode(' ', array_map(strtolower(...), $set));
}

/** @return list<string> */
function attributes(ReflectionClass|ReflectionFunctionAbstract|ReflectionParameter|ReflectionProperty $of): array
{
    return array_map(
        fn (ReflectionAttribute $attribute) => $attribute->getName() . json_encode($attribute->getArguments()),
        $of->getAttributes(),
    );
}

/** @return array<string, mixed> */
function parameter(ReflectionParameter $parameter): array
{
    return [
        'name' => $parameter->getName(),
        'type' => (string) $parameter->getType(),
        'default' => $parameter->isDefaultValueAvailable() ? var_export($parameter->getDefaultValue(), true) : 'none',
        'flags' => flags($parameter, 'Optional', 'Variadic', 'PassedByReference'),
        'attributes' => attributes($parameter),
    ];
}

/** @return array<string, mixed> */
function callable_(ReflectionFunctionAbstract $function): array
{
    return [
        'parameters' => array_map(parameter(...), $function->getParameters()),
        'returns' => (string) $function->getReturnType(),
        'tentatively returns' => (string) $function->getTentativeReturnType(),
        'by reference' => $function->returnsReference(),
        'flags' => $function instanceof ReflectionMethod
            ? flags($function, 'Public', 'Protected', 'Private', 'Static', 'Final', 'Abstract', 'Deprecated')
            : flags($function, 'Deprecated'),
        'attributes' => attributes($function),
    ];
}

/** @return array<string, mixed> */
function property(ReflectionProperty $property): array
{
    return [
        'type' => (string) $property->getType(),
        'default' => $property->hasDefaultValue() ? var_export($property->getDefaultValue(), true) : 'none',
        'flags' => flags($property, 'Public', 'Protected', 'Private', 'Static', 'ReadOnly'),
        'attributes' => attributes($property),
    ];
}

/** @return array<string, mixed> */
function constant_(ReflectionClassConstant $constant): array
{
    $value = $constant->getValue();
    return [
        'value' => $value instanceof BackedEnum ? $value->value : var_export($value, true),
        'flags' => flags($constant, 'Public', 'Protected', 'Private', 'Final', 'EnumCase'),
    ];
}

/** @return array<string, mixed> */
function class_(ReflectionClass $class): array
{
    $interfaces = $class->getInterfaceNames();
    sort($interfaces);
    $surface = [
        'class' => [
            'parent' => $class->getParentClass() ? $class->getParentClass()->getName() : 'none',
            'interfaces' => $interfaces,
            'flags' => flags($class, 'Final', 'Abstract', 'Interface', 'Trait', 'Enum', 'Instantiable'),
            'backing' => $class->isEnum() ? (string) (new ReflectionEnum($class->getName()))->getBackingType() : 'none',
            'attributes' => attributes($class),
        ],
    ];
    $own = fn (Reflector $member) => $member->getDeclaringClass()->getName() === $class->getName();
    foreach (array_filter($class->getReflectionConstants(), $own) as $constant) {
        $surface["::{$constant->getName()}"] = constant_($constant);
    }
    foreach (array_filter($class->getProperties(), $own) as $property) {
        $surface["->\${$property->getName()}"] = property($property);
    }
    foreach (array_filter($class->getMethods(), $own) as $method) {
        $surface["::{$method->getName()}()"] = callable_($method);
    }
    return $surface;
}

if ($stub === null) {
    $extension = new ReflectionExtension('sluice');
    $classes = $extension->getClassNames();
    $functions = array_keys($extension->getFunctions());
} else {
    $declared = [...get_declared_classes(), ...get_declared_interfaces(), ...get_declared_traits()];
    $classes = array_filter($declared, fn (string $name) => (new ReflectionClass($name))->getFileName() === $stub);
    $functions = array_filter(
        get_defined_functions()['user'],
        fn (string $name) => (new ReflectionFunction($name))->getFileName() === $stub,
    );
}

$surface = $undocumented = [];
$note = function (string $element, Reflector $reflector) use ($stub, &$undocumented): void {
    if ($stub !== null && preg_match('#^/\*\*[\s*]*[^@\s*]#', (string) $reflector->getDocComment()) !== 1) {
        $undocumented[] = $element;
    }
};
foreach ($classes as $name) {
    // An alias has its class's name.
    $class = new ReflectionClass($name);
    $name = $class->getName();
    foreach (class_($class) as $member => $known) {
        $surface[$name . ($member === 'class' ? '' : $member)] = $known;
    }
    $note($name, $class);
    foreach ([...$class->getMethods(), ...$class->getProperties(), ...$class->getReflectionConstants()] as $member) {
        if ($member->getDeclaringClass()->getName() !== $name) {
            continue;
        }
        // PHP itself gives an enum its name, value, cases(), from() and tryFrom().
        if ($class->isEnum() && !$member instanceof ReflectionClassConstant) {
            continue;
        }
        $note("{$name}::{$member->getName()}", $member);
    }
}
foreach ($functions as $name) {
    $function = new ReflectionFunction($name);
    $surface["{$name}()"] = callable_($function);
    $note("{$name}()", $function);
}
foreach (['TokenBucketLimiter', 'fixed_window_limit'] as $alias) {
    $surface["class {$alias}"] = class_exists($alias) ? (new ReflectionClass($alias))->getName() : 'none';
}
ksort($surface);
sort($undocumented);
$undocumented = array_values(array_unique($undocumented));
echo json_encode(['surface' => $surface, 'undocumented' => $undocumented], JSON_THROW_ON_ERROR);
