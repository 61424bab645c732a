import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import * as fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import {
  serveConversions,
  type ConversionWebhook,
} from '../../../src/cluster-daemon/conversion-webhook.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { CIDR_TEXTS } from '../../unit/api/cidr-texts.ts';
import { problemsOf } from '../../unit/api/objects.ts';
import { ruleCases } from '../../unit/api/rule-cases.ts';
import { egress } from '../../unit/api/rule-objects.ts';

const started = await startKubeApi();
if (typeof started === 'string') {
  console.warn(`the rules of our CRDs are not tested against a real API server: ${started}`);
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface TestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const collection = ({ apiVersion, kind, metadata }: TestObject): string => {
  const resource = resourceKindOf(apiVersion, kind);
  if (resource === undefined) throw new Error(`unknown kind ${kind}`);
  const folder = resource.namespaced ? `/namespaces/${metadata.namespace}` : '';
  return `/apis/${apiVersion}${folder}/${resource.plural}`;
};

type Path = readonly (string | number)[];

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  2 ** 31,
  '',
  'x'.repeat(300),
  '10.0.0.0/33',
  '::ffff:10.0.0.0/104',
  'fe80::1%eth0',
  [],
  [null],
  {},
  { unknown: 1 },
];

/** Places of all values in `value`, which is at `path`. */
const pathsIn = (value: unknown, path: Path): Path[] => [
  path,
  ...(typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, child]) =>
        pathsIn(child, [...path, Array.isArray(value) ? Number(key) : key]),
      )),
];

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, part) => (at as Record<string | number, unknown>)[part], value);

function withValue(value: unknown, [part, ...rest]: Path, replacement: unknown): unknown {
  if (part === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      index === part ? withValue(item, rest, replacement) : item,
    );
  const child = (value as Record<string | number, unknown>)[part];
  return { ...(value as object), [part]: withValue(child, rest, replacement) };
}

const fieldOf = (problem: string): string => problem.slice(0, problem.indexOf(': '));

/**
 * The same cases that our validation is tested with, sent to a real API server that has our CRDs: both must accept and
 * refuse the same, for as many reasons.
 */
describe.skipIf(typeof started === 'string')('a real API server agrees on', () => {
  const api = started as KubeApi;
  const stopping = new AbortController();
  let webhook: ConversionWebhook | undefined;

  beforeAll(async () => {
    const store = new KubernetesStore({ connection: api.connection });
    await api.install(definitions);
    await api.call('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'blue' },
    });
    webhook = await serveConversions(
      {
        store,
        host: '127.0.0.1',
        port: 0,
        name: '127.0.0.1',
        namespace: 'heddle',
        clock: systemClock,
        random: Math.random,
        onFailure: () => undefined,
      },
      stopping.signal,
    );
    for (const plural of ['userdefinednetworks', 'clusteruserdefinednetworks']) {
      const path = `${CRDS}/${plural}.k8s.ovn.org`;
      const { body } = await api.call('GET', path);
      const crd = body as {
        spec: { conversion: { webhook: { clientConfig: Record<string, unknown> } } };
      };
      const { clientConfig } = crd.spec.conversion.webhook;
      delete clientConfig['service'];
      clientConfig['url'] = `https://127.0.0.1:${webhook.port}/convert`;
      expect((await api.call('PUT', path, crd)).status).toBe(200);
    }
    const flat = ruleCases.find(({ rule }) => rule === 'flat: template')?.valid as TestObject;
    // The server takes up a changed definition in its own time.
    await vi.waitFor(async () => expect(await refusals(flat)).toEqual([]), {
      timeout: 30_000,
      interval: 200,
    });
  }, 120_000);

  afterAll(async () => {
    stopping.abort();
    await webhook?.[Symbol.asyncDispose]();
    if (typeof started !== 'string') await started[Symbol.asyncDispose]();
  });

  /** Reasons of the server for refusing an object, or an update of `old`; empty when it takes it. */
  const refusals = async (object: TestObject, old?: TestObject): Promise<string[]> => {
    const path = collection(object);
    let answer;
    if (old === undefined) {
      answer = await api.call('POST', `${path}?dryRun=All`, object);
    } else {
      const created = await api.call('POST', collection(old), old);
      expect(created.status).toBe(201);
      const at = `${path}/${old.metadata.name}`;
      const { metadata } = created.body as TestObject;
      answer = await api.call('PUT', `${at}?dryRun=All`, { ...object, metadata });
      await api.call('DELETE', at);
    }
    if (answer.status < 300) return [];
    const { details, message } = answer.body as {
      message: string;
      details?: { causes?: readonly { field: string; message: string }[] };
    };
    return details?.causes?.map((cause) => `${cause.field}: ${cause.message}`) ?? [message];
  };

  const examples = parseAllDocuments(
    readFileSync(join(import.meta.dirname, '../../unit/api/examples.yaml'), 'utf8'),
  ).map((document) => document.toJS() as TestObject);
  test.each(examples.map((object) => [`${object.kind} ${object.metadata.name}`, object] as const))(
    'the example %s',
    async (_name, object) => {
      const { namespace = '' } = object.metadata;
      if (namespace !== '')
        await api.call('POST', '/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace },
        });
      expect(await refusals(object)).toEqual([]);
    },
  );

  test('what is flat is stored with sections, and read back as it was written', async () => {
    const flat = examples.filter(
      ({ apiVersion, kind }) =>
        apiVersion.endsWith('v1alpha1') && kind.endsWith('UserDefinedNetwork'),
    );
    expect(flat).toHaveLength(3);
    for (const [index, example] of flat.entries()) {
      const metadata = { ...example.metadata, name: `flat-${index}` };
      const object = { ...example, metadata: { ...metadata, finalizers: [] } };
      expect((await api.call('POST', collection(object), object)).status).toBe(201);
      const read = async (apiVersion: string): Promise<{ spec: Record<string, unknown> }> => {
        const path = `${collection({ ...object, apiVersion })}/${metadata.name}`;
        return (await api.call('GET', path)).body as { spec: Record<string, unknown> };
      };
      const { spec } = object as unknown as { spec: Record<string, unknown> };
      expect((await read('k8s.ovn.org/v1alpha1')).spec).toEqual(spec);
      const stored = (await read('k8s.ovn.org/v1')).spec;
      const section = (stored['network'] ?? stored) as { layer2?: object };
      expect(section.layer2).toMatchObject({
        role: 'Primary',
        mtu: 9000,
        subnets: ['10.0.0.0/24'],
      });
    }
  });

  test('texts of a field of format cidr', async () => {
    for (const [text, isValid] of CIDR_TEXTS) {
      const object = egress('EgressQoS', { egress: [{ dscp: 1, dstCIDR: text }] }) as TestObject;
      const { status } = await api.call('POST', `${collection(object)}?dryRun=All`, object);
      expect(status === 201, text).toBe(isValid);
    }
  });

  test('objects in which a value was put where another one was', async () => {
    const bases = ruleCases
      .map(({ valid }) => valid as TestObject & { spec?: object })
      .filter(({ spec }) => spec !== undefined && JSON.stringify(spec).length < 2000);
    const places = bases.flatMap((object) =>
      pathsIn(object.spec, ['spec']).map((path) => ({ object, path })),
    );
    const values = [...places.map(({ object, path }) => valueAt(object, path)), ...ODD_VALUES];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...places),
        fc.constantFrom(...values),
        async ({ object, path }, value) => {
          const changed = withValue(object, path, value) as TestObject;
          const server = await refusals(changed);
          const fields = (problems: readonly string[]): string[] =>
            [...new Set(problems.map(fieldOf))].sort();
          const ours = fields(problemsOf(changed));
          // Of what can't be converted the server says no fields.
          if (server.join().startsWith('conversion webhook')) expect(ours).not.toEqual([]);
          else expect(fields(server)).toEqual(ours);
        },
      ),
      { numRuns: 400, seed: 1 },
    );
  }, 60_000);

  test.each(ruleCases)('$rule', async ({ old, valid, invalid, message }) => {
    const before = old as TestObject | undefined;
    expect(await refusals(valid as TestObject, before)).toEqual([]);
    const server = await refusals(invalid as TestObject, before);
    expect(server.join('\n')).toContain(message.replace(/^spec\S*: /, ''));
    // For as many reasons, in the same fields.
    expect(server.map(fieldOf).sort()).toEqual(problemsOf(invalid, old).map(fieldOf).sort());
  });
});
