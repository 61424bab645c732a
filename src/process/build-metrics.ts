/** What Prometheus sees of the program itself. */
import { Gauge, type Registry } from 'prom-client';
import { VERSION } from './version.ts';

/** Always 1: its labels say what runs. */
export function registerBuild(registry: Registry): void {
  new Gauge({
    name: 'heddle_build_info',
    help: 'Release of Heddle, and version of Node.js, of this process.',
    labelNames: ['version', 'nodejs_version'],
    registers: [registry],
  }).set({ version: VERSION, nodejs_version: process.versions.node }, 1);
}
