import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { INCOMPLETE, ratchetCases } from '../../unit/api/ratchet-cases.ts';

const started = await startKubeApi();
if (typeof started === 'string') {
  console.warn(`ratcheting is not tested against a real API server: ${started}`);
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface TestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: object;
  };
}

/** What an older definition may not have had. */
const CONSTRAINTS = new Set([
  'x-kubernetes-validations',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]);

/** A schema without constraints; the keys of list-maps stay required, as the API server wants. */
function lax(schema: unknown, keys: readonly string[] = []): unknown {
  if (Array.isArray(schema)) return schema.map((child) => lax(child));
  if (typeof schema !== 'object' || schema === null) return schema;
  const listKeys = (schema as { 'x-kubernetes-list-map-keys'?: readonly string[] })[
    'x-kubernetes-list-map-keys'
  ];
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => !CONSTRAINTS.has(name))
      .map(([name, child]) => {
        if (name === 'required' && Array.isArray(child)) return [name, keys];
        return [name, lax(child, name === 'items' ? listKeys : [])];
      }),
  );
}

const laxDefinition = ({ spec, ...rest }: (typeof definitions)[number]): object => ({
  ...rest,
  spec: {
    ...spec,
    versions: spec.versions.map(({ schema, ...version }) => ({ ...version, schema: lax(schema) })),
  },
});

/**
 * The same updates that our validation is tested with, of objects that were stored when the definitions had no
 * constraints.
 */
describe.skipIf(typeof started === 'string')('a real API server forgives', () => {
  const api = started as KubeApi;
  /** Each case has a namespace of its own, or a name where the kind has no namespaces. */
  const placed = (object: object, index: number): TestObject => {
    const { metadata, ...rest } = object as TestObject;
    const place =
      metadata.namespace === undefined ? { name: `case-${index}` } : { namespace: `case-${index}` };
    return { ...rest, metadata: { ...metadata, ...place } };
  };
  const collection = ({ apiVersion, kind, metadata }: TestObject): string => {
    const resource = resourceKindOf(apiVersion, kind);
    if (resource === undefined) throw new Error(`unknown kind ${kind}`);
    const folder = resource.namespaced ? `/namespaces/${metadata.namespace}` : '';
    return `/apis/${apiVersion}${folder}/${resource.plural}`;
  };
  const pathOf = (object: TestObject): string => `${collection(object)}/${object.metadata.name}`;
  const reasons = (body: unknown): string[] => {
    const { details, message } = body as {
      message: string;
      details?: { causes?: readonly { field: string; message: string }[] };
    };
    return details?.causes?.map((cause) => `${cause.field}: ${cause.message}`) ?? [message];
  };

  beforeAll(async () => {
    await api.install(definitions.map(laxDefinition));
    for (const [index, { old }] of ratchetCases.entries()) {
      await api.call('POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: `case-${index}` },
      });
      const object = placed(old, index);
      const { status, body } = await api.call('POST', collection(object), object);
      expect(status, JSON.stringify(body)).toBe(201);
    }
    for (const definition of definitions) {
      const path = `${CRDS}/${definition.metadata.name}`;
      const { body } = await api.call('GET', path);
      const { metadata } = body as { metadata: object };
      const answer = await api.call('PUT', path, { ...definition, metadata });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    }
    // The server takes up changed definitions in its own time.
    for (const [index, { old }] of ratchetCases.entries())
      await vi.waitFor(
        async () => {
          const object = placed(old, index);
          const fresh = { ...object, metadata: { ...object.metadata, name: 'default' } };
          const { status } = await api.call('POST', `${collection(fresh)}?dryRun=All`, fresh);
          expect([422, 409]).toContain(status);
        },
        { timeout: 30_000, interval: 200 },
      );
  }, 120_000);

  afterAll(async () => {
    if (typeof started !== 'string') await started[Symbol.asyncDispose]();
  });

  test.each(ratchetCases.map((one, index) => ({ ...one, index })))(
    '$title',
    async ({ old, next, errors, index }) => {
      const path = pathOf(placed(old, index));
      const { body } = await api.call('GET', path);
      const { metadata } = body as TestObject;
      const object = placed(next, index);
      const { labels } = object.metadata;
      const answer = await api.call('PUT', `${path}?dryRun=All`, {
        ...object,
        metadata: { ...metadata, ...(labels === undefined ? {} : { labels }) },
      });
      const found =
        answer.status === 200
          ? []
          : reasons(answer.body).filter((reason) => !reason.includes(INCOMPLETE));
      // The server says some errors of metadata several times.
      const named = new Set(
        found.map((text) => errors.find((part) => text.includes(part)) ?? text),
      );
      expect([...named].sort()).toEqual(errors.toSorted());
    },
  );
});
