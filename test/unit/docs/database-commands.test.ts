/** Tables and columns of commands that pages show are those of the databases. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');
const PAGES = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: ROOT }).toSorted();

interface Schema {
  readonly name: string;
  readonly tables: Readonly<
    Record<string, { readonly columns: Readonly<Record<string, unknown>> }>
  >;
}
const schemas = new Map(
  globSync('schemas/*.ovsschema', { cwd: ROOT }).map((file): readonly [string, Schema] => {
    const schema = JSON.parse(read(file)) as Schema;
    return [schema.name, schema];
  }),
);
const DATABASES: Readonly<Record<string, string>> = {
  'ovn-nbctl': 'OVN_Northbound',
  'ovn-sbctl': 'OVN_Southbound',
  'ovs-vsctl': 'Open_vSwitch',
};

/** As the programs compare names of tables. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

test('ovn-nbctl, ovn-sbctl and ovs-vsctl are given tables and columns that are there', () => {
  const shown = PAGES.flatMap((page) =>
    [
      ...read(page)
        .replaceAll('\\\n', ' ')
        .matchAll(
          /\b(ovn-nbctl|ovn-sbctl|ovs-vsctl)([^`\n#|]*?) (find|list|get|set|remove) (\w+)([^`\n#|]*)/g,
        ),
    ].map(([line, program = '', options = '', , table = '', rest = '']) => {
      const tables = Object.entries(schemas.get(DATABASES[program] ?? '')?.tables ?? {});
      const [, found] = tables.find(([name]) => plain(name) === plain(table)) ?? [];
      const columns = [
        ...(/--columns=([\w,]+)/.exec(options)?.[1]?.split(',') ?? []),
        ...[...rest.matchAll(/(?<=[\s'])([a-z_]{3,})(?::[\w-]+)?(?==|!=)/g)].map(
          ([, name = '']) => name,
        ),
      ];
      const unknown =
        found === undefined
          ? [table]
          : columns.filter((name) => name !== '_uuid' && !Object.hasOwn(found.columns, name));
      return { page, line, unknown };
    }),
  );
  expect(shown.length).toBeGreaterThan(15);
  expect(shown.filter(({ unknown }) => unknown.length > 0)).toEqual([]);
});
