// Writes deploy/monitoring/dashboards/*.json from dashboards.ts. With --check: exits 1 when a file does not hold what that says.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DASHBOARDS, type Dashboard, type Panel } from './dashboards.ts';

const FOLDER = join(import.meta.dirname, '../deploy/monitoring/dashboards');
const COLUMNS = 24;
const HEIGHTS = { stat: 4, timeseries: 8, table: 8 } as const;
/** That of Grafana 11; newer ones read it. */
const SCHEMA_VERSION = 39;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

const steps = ({ redFrom, redBelow }: Panel): readonly object[] =>
  redBelow !== undefined
    ? [
        { color: 'red', value: null },
        { color: 'green', value: redBelow },
      ]
    : [{ color: 'green', value: null }, ...(redFrom === undefined ? [] : [{ color: 'red', value: redFrom }])];

const panelOf = (panel: Panel, id: number, gridPos: object): object => ({
  id,
  type: panel.type,
  title: panel.title,
  description: panel.description,
  datasource: DATASOURCE,
  gridPos,
  fieldConfig: {
    defaults: { unit: panel.unit ?? 'short', min: 0, thresholds: { mode: 'absolute', steps: steps(panel) } },
    overrides: [],
  },
  targets: panel.queries.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATASOURCE,
    expr,
    ...(panel.type === 'timeseries' ? { legendFormat } : { instant: true, range: false }),
    ...(panel.type === 'table' ? { format: 'table' } : {}),
  })),
});

function panelsOf({ rows }: Dashboard): readonly object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: ofRow } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of ofRow) {
      if (x + panel.width > COLUMNS) [x, y, height] = [0, y + height, 0];
      const h = HEIGHTS[panel.type];
      panels.push(panelOf(panel, panels.length + 1, { x, y, w: panel.width, h }));
      x += panel.width;
      height = Math.max(height, h);
    }
    y += height;
  }
  return panels;
}

const textOf = (dashboard: Dashboard): string => {
  const variable = { refresh: 2, includeAll: true, multi: true, current: { text: 'All', value: '$__all' } };
  const json = {
    uid: dashboard.uid,
    title: dashboard.title,
    tags: ['heddle'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    time: { from: 'now-3h', to: 'now' },
    refresh: '1m',
    links: [{ type: 'dashboards', title: 'Heddle', tags: ['heddle'], asDropdown: true, keepTime: true }],
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        ...dashboard.variables.map(({ name, query }) => ({
          name,
          type: 'query',
          datasource: DATASOURCE,
          query: { query, refId: name },
          ...variable,
        })),
      ],
    },
    panels: panelsOf(dashboard),
  };
  return `${JSON.stringify(json, null, 2)}\n`;
};

for (const dashboard of DASHBOARDS) {
  const file = join(FOLDER, `${dashboard.uid}.json`);
  const text = textOf(dashboard);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`${file} is not what schemas/dashboards.ts says: npm run generate\n`);
    process.exitCode = 1;
  }
}
