/** The form of a certificate, as a schema: what another program may count on. */
import type { Schema } from '../../api/validation/schema.ts';

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', format: 'int64' };
const list = (items: Schema): Schema => ({ type: 'array', items });
const table = (additionalProperties: Schema): Schema => ({ type: 'object', additionalProperties });
/** Every member is needed, but for `optional` ones. */
const object = (
  needed: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => ({
  type: 'object',
  required: Object.keys(needed),
  properties: { ...needed, ...optional },
});

const owner = object({ object: text, networks: list(text) });

const headers = object(
  { destinations: list(text), protocol: text },
  {
    sources: list(text),
    ports: list(count),
    portRanges: list(text),
    sourcePortRanges: list(text),
    established: { type: 'boolean' },
    left: object({}, { sources: count, destinations: count, ports: count }),
  },
);

const witnesses = object(
  {
    seed: count,
    packets: count,
    logicalTraces: count,
    physicalTraces: count,
    apart: count,
    dropped: count,
    joined: count,
    passed: count,
  },
  {
    real: object({
      nonce: text,
      sent: count,
      nowhere: count,
      toPods: count,
      toHost: count,
      toTunnels: count,
      outside: count,
      differing: count,
    }),
  },
);

export const CERTIFICATE_FORM: Schema = object(
  {
    format: { type: 'string', enum: ['heddle-certificate/1'] },
    time: { type: 'string', format: 'date-time' },
    node: text,
    versions: table(text),
    databases: list(
      object(
        { name: text, schema: text, sequences: table(count), rows: text },
        { generation: text, cluster: text, index: count },
      ),
    ),
    networks: list(object({ name: text, id: count, object: text, prefix: text })),
    joins: list(owner),
    users: list(owner),
    evidence: object({
      corners: list(
        object({
          id: text,
          kind: { type: 'string', enum: ['switch', 'router'] },
          name: text,
          of: { type: 'string', nullable: true },
        }),
      ),
      ways: list(object({ between: list(text), by: list(text) })),
      exits: list(object({ corner: text, where: text, to: text })),
      openings: list(object({ from: text, to: text, where: text })),
      pods: list(object({ port: text, corner: text, pod: text, network: text })),
      identities: list(object({ kind: text, value: text, holder: text })),
    }),
    sums: object({
      corners: count,
      ways: count,
      exits: count,
      openings: count,
      pods: count,
      identities: count,
      networks: count,
      edges: count,
      violations: count,
      parts: count,
    }),
    counts: table(count),
    pairs: object({ all: count, apart: count, connected: count }),
    edges: list(
      object(
        { from: text, to: text, kind: text, where: text, object: text },
        { passes: list(headers), enters: list(headers), unlisted: count },
      ),
    ),
    violations: list(
      object({ check: text, where: text, what: text, object: text, networks: list(text) }),
    ),
    undecided: list(text),
    notes: list(text),
    notProved: list(text),
    verdict: { type: 'string', enum: ['apart', 'not apart', 'undecided'] },
    digest: text,
  },
  { witnesses },
);
