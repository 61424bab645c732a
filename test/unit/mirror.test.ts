/** Unit tests mirror the sources: the rules of a file are found in the test of its name. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../src/lab/paths.ts';

/** Types alone, or made by a script. */
const WITHOUT_RULES = [
  'src/model/read/object-kind.ts',
  'src/model/zone/zone-basis.ts',
  'src/topology/parts/part.ts',
  'src/topology/schema/northbound.generated.ts',
  'src/topology/schema/row-types.ts',
  'src/topology/schema/southbound.generated.ts',
];
const hasTestOfItsName = (source: string): boolean => {
  const path = join(checkout, 'test/unit', relative('src', source).replace(/\.ts$/, '.test.ts'));
  try {
    const text = readFileSync(path, 'utf8');
    const name = relative(dirname(path), join(checkout, source));
    return text.includes(`'${name}'`);
  } catch {
    return false;
  }
};

test('every file of src/topology and src/model/{read,rules,zone} is imported by the unit test of its name', () => {
  const sources = globSync('src/{topology,model/read,model/rules,model/zone}/**/*.ts', {
    cwd: checkout,
  }).filter((source) => !WITHOUT_RULES.includes(source));
  expect(sources.filter((source) => !hasTestOfItsName(source))).toEqual([]);
});
