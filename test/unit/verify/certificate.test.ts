import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Certificate } from '../../../src/verify/certificate/certificate.ts';
import { certificateOf } from '../../../src/verify/certificate/certify.ts';
import { digestOf, recheck } from '../../../src/verify/recheck/recheck.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { prove } from '../../../src/verify/verify.ts';
import { connectedSnapshot } from '../../support/verify/connected-zone.ts';
import { NORTHBOUND, snapshot } from '../../support/verify/small-zone.ts';

const certified = (of: Snapshot): Certificate =>
  certificateOf(of, prove(of), { time: '2026-01-02T03:04:05.000Z', heddle: '0.0.0' });

/** As somebody would seal it who changes more than one field. */
const sealed = (certificate: Certificate): Certificate => ({
  ...certificate,
  digest: digestOf(certificate),
});

const GOOD = certified(connectedSnapshot());
const PLAIN = certified(snapshot());
const { evidence } = GOOD;

/** With other evidence, and sums that fit. */
const withEvidence = (more: Partial<Certificate['evidence']>): Certificate => {
  const changed = { ...evidence, ...more };
  const sums = Object.fromEntries(
    Object.entries(changed).map(([name, list]) => [name, list.length]),
  );
  return sealed({ ...GOOD, evidence: changed, sums: { ...GOOD.sums, ...sums } });
};

const withEdges = (edges: Certificate['edges']): Certificate =>
  sealed({ ...GOOD, edges, sums: { ...GOOD.sums, edges: edges.length } });

test('a certificate of networks that are apart, or joined by an object, holds by itself', () => {
  expect(recheck(PLAIN)).toEqual([]);
  expect(PLAIN.pairs).toEqual({ all: 1, apart: 1, connected: 0 });
  expect(recheck(GOOD)).toEqual([]);
  expect(GOOD.verdict).toBe('apart');
  expect(GOOD.pairs).toEqual({ all: 1, apart: 0, connected: 1 });
  expect(GOOD.edges.map(({ from, to, object }) => `${from} > ${to}: ${object}`).toSorted()).toEqual(
    [
      'blue_net > ClusterNetworkConnect both: ClusterNetworkConnect both',
      'blue_net > host: UserDefinedNetwork blue/net',
      'blue_net > outside: UserDefinedNetwork blue/net',
      'green_net > ClusterNetworkConnect both: ClusterNetworkConnect both',
      'green_net > host: UserDefinedNetwork green/net',
      'green_net > outside: UserDefinedNetwork green/net',
    ],
  );
  expect(recheck(JSON.parse(JSON.stringify(GOOD)))).toEqual([]);
});

test('one of networks that are not apart holds, and says so', () => {
  const leaking = new Map(
    Object.entries({
      ...NORTHBOUND,
      Logical_Router_Port: (NORTHBOUND['Logical_Router_Port'] ?? []).map((row) =>
        row['name'] === 'rtos-blue_net_n1' ? { ...row, peer: 'rtos-green_net_n1' } : row,
      ),
    }),
  );
  const certificate = certified(snapshot({ northbound: leaking }));
  expect(recheck(certificate)).toEqual([]);
  expect(certificate.verdict).toBe('not apart');
  expect(recheck(sealed({ ...certificate, violations: [], verdict: 'apart' }))).toContainEqual(
    expect.stringMatching(/^evidence\.ways\[2\]\.by: .*rtos-blue_net_n1/),
  );
});

test('the digest of rows is that of what was read, in whatever order it came', () => {
  const turned = new Map(
    Object.entries(NORTHBOUND).map(([table, rows]) => [table, rows.toReversed()]),
  );
  expect(certified(snapshot({ northbound: turned })).databases).toEqual(PLAIN.databases);
});

describe('a certificate with witnesses that were sent', () => {
  const real = {
    nonce: '0x1a2b3c4d',
    sent: 9,
    nowhere: 4,
    toPods: 2,
    toHost: 1,
    toTunnels: 2,
    outside: 1,
    differing: 0,
  };
  const witnesses = {
    seed: 1,
    packets: 10,
    logicalTraces: 10,
    physicalTraces: 10,
    apart: 6,
    dropped: 5,
    joined: 2,
    passed: 1,
    real,
  };
  const withReal = (more: object): Certificate =>
    sealed({ ...GOOD, witnesses: { ...witnesses, real: { ...real, ...more } } });

  test('holds', () => {
    expect(recheck(withReal({}))).toEqual([]);
    expect(recheck(sealed({ ...GOOD, witnesses }))).toEqual([]);
  });

  test.each([
    [{ sent: 11 }, 'witnesses.real.sent: 11: of 10 at most'],
    [{ toPods: -1 }, 'witnesses.real.toPods: -1: of 9 at most'],
    [{ toPods: 10 }, 'witnesses.real.toPods: 10: of 9 at most'],
    [{ nowhere: 1 }, 'witnesses.real.sent: 9: is more than came out anywhere and nowhere'],
    [{ differing: 1 }, 'witnesses.real.differing: 1: undecided tells nothing of it'],
    [
      { sent: 0, nowhere: 0, toPods: 0, toHost: 0, toTunnels: 0, outside: 0 },
      'witnesses.real.sent: 0: undecided tells nothing of it',
    ],
    [{ nonce: '7' }, 'witnesses.real.nonce: "7": is no sequence number in hexadecimal'],
    [{ nonce: 7 }, 'witnesses.real.nonce in body must be of type string'],
  ])('does not with %o', (more, wrong) => {
    expect(recheck(withReal(more))).toContainEqual(expect.stringContaining(wrong));
  });
});

describe('a good certificate that was changed, and sealed anew, is refused', () => {
  const edgeIndex = fc.nat(GOOD.edges.length - 1);
  const corner = fc.constantFrom(...evidence.corners);

  test('with a way between two owners that was not there', () => {
    fc.assert(
      fc.property(corner, corner, fc.string(), (a, b, name) => {
        fc.pre(a.of !== b.of);
        const way = {
          between: [a.id, b.id] as const,
          by: [`Northbound Logical_Router_Port ${name}`],
        };
        expect(recheck(withEvidence({ ways: [...evidence.ways, way] }))).not.toEqual([]);
      }),
    );
  });

  test('with an edge that was not there', () => {
    const name = fc.constantFrom('blue_net', 'green_net', 'outside', 'host', 'default', 'new');
    const edge = fc.record({
      from: name,
      to: name,
      kind: fc.constantFrom(
        ...([
          'connection',
          'namespace',
          'outside',
          'host',
          'physical',
          'service',
          'open port',
        ] as const),
      ),
      where: fc.oneof(fc.string(), fc.constantFrom(...GOOD.edges.map(({ where }) => where))),
      object: fc.oneof(fc.string(), fc.constantFrom(...GOOD.edges.map(({ object }) => object))),
    });
    fc.assert(
      fc.property(edge, (one) => {
        const isThere = GOOD.edges.some((known) => JSON.stringify(known) === JSON.stringify(one));
        fc.pre(!isThere);
        expect(recheck(withEdges([...GOOD.edges, one]))).not.toEqual([]);
      }),
    );
  });

  test('with an edge twice, or without one', () => {
    fc.assert(
      fc.property(edgeIndex, (index) => {
        expect(
          recheck(withEdges([...GOOD.edges, ...GOOD.edges.slice(index, index + 1)])),
        ).not.toEqual([]);
        expect(recheck(withEdges(GOOD.edges.toSpliced(index, 1)))).not.toEqual([]);
      }),
    );
  });

  test('with the owner of an edge taken out, or exchanged', () => {
    const others = [...new Set(['', 'Service a/b', ...GOOD.edges.map(({ object }) => object)])];
    fc.assert(
      fc.property(edgeIndex, fc.oneof(fc.string(), fc.constantFrom(...others)), (index, object) => {
        const edge = GOOD.edges[index];
        fc.pre(edge !== undefined && edge.object !== object);
        const edges = GOOD.edges.with(index, { ...edge, object });
        expect(recheck(withEdges(edges))).not.toEqual([]);
      }),
    );
    for (const [index, { object }] of GOOD.joins.entries()) {
      const joins = GOOD.joins.toSpliced(index, 1);
      expect(recheck(sealed({ ...GOOD, joins })), object).not.toEqual([]);
    }
  });

  test('with a corner of somebody else', () => {
    const owner = fc.constantFrom('blue_net', 'green_net', 'ClusterNetworkConnect both', null);
    fc.assert(
      fc.property(fc.nat(evidence.corners.length - 1), owner, (index, of) => {
        const known = evidence.corners[index];
        fc.pre(known !== undefined && known.of !== of);
        const corners = evidence.corners.map((one, at) => (at === index ? { ...one, of } : one));
        expect(recheck(withEvidence({ corners }))).not.toEqual([]);
      }),
    );
  });

  test('with a pod on the switch of another network', () => {
    for (const index of evidence.pods.keys()) {
      const pods = evidence.pods.map((pod, at) =>
        at === index
          ? { ...pod, network: pod.network === 'blue_net' ? 'green_net' : 'blue_net' }
          : pod,
      );
      expect(recheck(withEvidence({ pods }))).toEqual([
        expect.stringMatching(
          /^evidence\.pods\[\d\]\.network: "(blue|green)_net": Pod .* hangs on /,
        ),
      ]);
    }
  });

  test('with a number that two have', () => {
    fc.assert(
      fc.property(fc.nat(evidence.identities.length - 1), (index) => {
        const [known] = evidence.identities.slice(index, index + 1);
        const twin = { kind: '', value: '', ...known, holder: 'somebody else' };
        const wrong = recheck(withEvidence({ identities: [...evidence.identities, twin] }));
        expect(wrong).toEqual([
          expect.stringContaining(`is of ${known?.holder} and of somebody else`),
        ]);
      }),
    );
  });

  test('with other pairs, sums or verdict', () => {
    expect(recheck(sealed({ ...GOOD, pairs: { ...GOOD.pairs, apart: 1 } }))).toEqual([
      'pairs.apart: 1: from the rest follow 0',
    ]);
    expect(recheck(sealed({ ...GOOD, verdict: 'undecided' }))).toEqual([
      'verdict: "undecided": from violations and undecided follows "apart"',
    ]);
    for (const name of Object.keys(GOOD.sums)) {
      const sums = { ...GOOD.sums, [name]: 99 };
      expect(recheck(sealed({ ...GOOD, sums }))).toEqual([
        expect.stringContaining(`sums.${name}: 99: the certificate has `),
      ]);
    }
  });
});

test('whatever is changed without sealing it anew, its digest tells', () => {
  const paths: (readonly (string | number)[])[] = [];
  const collect = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === 'object' && value !== null)
      for (const [key, child] of Object.entries(value))
        collect(child, [...path, Array.isArray(value) ? Number(key) : key]);
    else paths.push(path);
  };
  collect(GOOD, []);
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.oneof(fc.string(), fc.integer()), (path, leaf) => {
      const changed = structuredClone(GOOD) as unknown;
      let at = changed as Record<string | number, unknown>;
      for (const key of path.slice(0, -1)) at = at[key] as typeof at;
      const last = path.at(-1) ?? '';
      fc.pre(at[last] !== leaf);
      at[last] = leaf;
      expect(recheck(changed)).not.toEqual([]);
    }),
  );
});

test('what is no certificate is refused with field and value', () => {
  expect(recheck(undefined)).not.toEqual([]);
  expect(recheck({ ...GOOD, format: 'heddle-certificate/9' })).toEqual([
    expect.stringMatching(/^format: .*"heddle-certificate\/9"/),
  ]);
  expect(recheck({ ...GOOD, evidence: { ...evidence, ways: [{ between: 5, by: [] }] } })).toEqual([
    expect.stringMatching(/^evidence\.ways\[0\]\.between: .*5/),
  ]);
});
