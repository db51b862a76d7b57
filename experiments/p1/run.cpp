// SPDX-License-Identifier: Apache-2.0
//
// Tables 1 to 9 and Figures 2 to 11, at lab.scale / 1000 of the paper's size (README.md: "Size").
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "experiments/experiment.hpp"
#include "experiments/p1/p1.hpp"
#include "experiments/p1/variants.hpp"
#include "nodup/filters/biased.hpp"
#include "nodup/filters/biased_single.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/reservoir.hpp"
#include "nodup/filters/stable.hpp"

namespace nodup::lab {
namespace {

constexpr std::uint64_t kArrays = 2;  // in Tables 4 to 9
const std::vector<std::string> kAlgorithms = {"SBF", "RSBF", "BSBF", "BSBFSD", "RLBSBF"};
const std::string kReservoirOfText = "RSBF of the text", kStableOf31Bits = "SBF with 31 bits";
constexpr double kMegabytes[] = {64, 128, 256, 512};
constexpr double kMegabytesOf31BitSlip = 512;  // 2^32 cells; smaller ones are within reach of 31 bits

// Tables 4 to 9 in their order, each with the sizes above.
struct StreamTable {
  int number;
  double records, distinct;
};
constexpr StreamTable kStreamTables[] = {{4, 695e6, 0.15}, {5, 695e6, 0.60}, {6, 695e6, 0.90},
                                         {7, 1e9, 0.15},   {8, 1e9, 0.60},   {9, 1e9, 0.90}};

struct Figure {
  int number;
  Row row;
};
constexpr Figure kFigures[] = {{2, {1e9, 0.15, 128}},   {3, {1e9, 0.15, 256}},   {4, {1e9, 0.15, 512}},
                               {5, {1e9, 0.60, 128}},   {6, {1e9, 0.60, 256}},   {7, {1e9, 0.60, 512}},
                               {8, {695e6, 0.15, 512}}, {9, {695e6, 0.60, 512}}, {10, {695e6, 0.90, 512}}};

// BSBF, BSBFSD and RLBSBF.
std::vector<Contender> biased_algorithms(std::uint64_t bits, std::uint64_t arrays) {
  const SampledParams params{bits, arrays, 0};
  std::vector<Contender> some;
  some.push_back(contender("BSBF", arrays, Biased(params)));
  some.push_back(contender("BSBFSD", arrays, BiasedSingle(params)));
  some.push_back(contender("RLBSBF", arrays, LoadBalanced(params)));
  return some;
}

std::vector<Contender> all_algorithms(const Row& row, std::uint64_t bits) {
  const SampledParams params{bits, kArrays, 0};
  std::vector<Contender> all = biased_algorithms(bits, kArrays);
  all.push_back(contender("SBF", kArrays, Stable(paper_stable(bits))));
  all.push_back(contender("RSBF", kArrays, PublishedReservoir(params)));
  all.push_back(contender(kReservoirOfText, kArrays, Reservoir(params)));
  if (row.megabytes == kMegabytesOf31BitSlip) {
    const auto filter = std::make_shared<StableOf31Bits>(bits);
    all.push_back(
        {kStableOf31Bits, [filter](auto keys, bool* is_new) { filter->insert_all(keys, is_new); }, [] { return 0; }});
  }
  return all;
}

// All rows of Tables 4 to 9; or those that the environment names, P1_ROWS="1B 60 % 64 MB;1B 60 % 512 MB", to have a few
// of them at the paper's own size.
std::vector<Row> wanted_rows() {
  std::vector<Row> all;
  for (const StreamTable& t : kStreamTables)
    for (const double megabytes : kMegabytes) all.push_back({t.records, t.distinct, megabytes});
  const char* names = std::getenv("P1_ROWS");
  if (names == nullptr) return all;
  std::vector<Row> wanted;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ';');) {
    const auto found = std::ranges::find(all, name, &Row::name);
    if (found == all.end())
      throw Error(fmt::format("P1_ROWS: no row \"{}\"; rows are like \"{}\"", name, all.front().name()));
    wanted.push_back(*found);
  }
  return wanted;
}

struct Measured {
  Row row;
  Course course;
};

const Course* find(const std::vector<Measured>& all, const Row& row) {
  const auto found = std::ranges::find(all, row.name(), [](const Measured& m) { return m.row.name(); });
  return found == all.end() ? nullptr : &found->course;
}

std::vector<double> cells(const Course& course, double Reading::*rate) {
  std::vector<double> values;
  for (const std::string& name : kAlgorithms) values.push_back(course.last(name).*rate);
  return values;
}

std::vector<std::string> with_head(std::string head, std::vector<std::string> columns) {
  columns.insert(columns.begin(), std::move(head));
  return columns;
}

void write_stream_tables(const Experiment& lab, const std::vector<Measured>& measured) {
  for (const StreamTable& t : kStreamTables) {
    const Row any{t.records, t.distinct, 0};
    Table table(
        lab, fmt::format("table{}", t.number),
        fmt::format(
            "Table {}: {} distinct\nPercent. SBF draws its random cells from all of them; RSBF is the variant that was "
            "published, not that of the text.",
            t.number, any.stream_name()),
        with_head("rate", kAlgorithms));
    for (const double megabytes : kMegabytes)
      if (const Course* course = find(measured, {t.records, t.distinct, megabytes})) {
        table.numbers(fmt::format("{:g} MB FPR", megabytes), cells(*course, &Reading::false_positives));
        table.numbers(fmt::format("{:g} MB FNR", megabytes), cells(*course, &Reading::false_negatives));
      }
  }
}

// The rows in which a variant ran that the text and the tables disagree about.
void write_variant(const Experiment& lab, const std::vector<Measured>& measured, std::string_view table_name,
                   std::string_view title, const std::string& variant) {
  Table table(lab, table_name, title, {"row", "FPR", "FNR"});
  for (const Measured& m : measured)
    if (m.course.readings.contains(variant)) {
      const Reading& last = m.course.last(variant);
      table.row(m.row.name(), last.false_positives, last.false_negatives);
    }
}

void write_figures(const Experiment& lab, const std::vector<Measured>& measured) {
  std::vector<std::string> columns{"million records"};
  for (const std::string& name : kAlgorithms)
    for (const char* rate : {"FPR", "FNR", "load"}) columns.push_back(fmt::format("{} {}", name, rate));
  for (const Figure& figure : kFigures)
    if (const Course* course = find(measured, figure.row)) {
      Table table(
          lab, fmt::format("figure{}", figure.number),
          fmt::format("Figure {}: {} distinct, {:g} MB", figure.number, figure.row.stream_name(), figure.row.megabytes),
          columns);
      for (std::size_t point = 0; point < course->share.size(); ++point) {
        std::vector<double> values;
        for (const std::string& name : kAlgorithms) {
          const Reading& r = course->readings.at(name)[point];
          values.insert(values.end(), {r.false_positives, r.false_negatives, r.load});
        }
        table.numbers(fmt::format("{:g}", course->share[point] * figure.row.records / 1e6), values);
      }
    }
}

void stream_tables(const Experiment& lab) {
  std::vector<Measured> measured;
  for (const Row& row : wanted_rows()) measured.push_back({row, {}});
  in_parallel(measured.size(), [&](std::size_t i) {
    Measured& m = measured[i];
    m.course =
        measure(m.row, lab.scale / 1000, kArrays, [&](std::uint64_t bits) { return all_algorithms(m.row, bits); });
  });
  write_stream_tables(lab, measured);
  write_variant(lab, measured, "sbf_31_bits",
                "SBF at 512 MB as the paper ran it\nPercent. Random numbers of 31 bits reach only the lower half of "
                "the 2^32 cells.",
                kStableOf31Bits);
  write_variant(
      lab, measured, "rsbf_text",
      "RSBF as the text describes it\nPercent. Only records judged distinct are inserted, and the first s records "
      "(s = M/k) reset nothing: the library's `reservoir`.",
      kReservoirOfText);
  write_figures(lab, measured);
}

// Tables 1 to 3: an algorithm each, by the number of arrays k.
void array_tables(const Experiment& lab) {
  constexpr double kSizes[] = {8, 128, 512};
  constexpr std::uint64_t kMostArrays = 5;
  const std::vector<std::string> algorithms = {"BSBF", "BSBFSD", "RLBSBF"};
  std::vector<Course> courses(std::size(kSizes) * kMostArrays);
  const auto row = [&](std::size_t size) { return Row{1e9, 0.60, kSizes[size]}; };
  in_parallel(courses.size(), [&](std::size_t i) {
    const std::uint64_t arrays = i % kMostArrays + 1;
    courses[i] = measure(row(i / kMostArrays), lab.scale / 1000, arrays,
                         [&](std::uint64_t bits) { return biased_algorithms(bits, arrays); });
  });
  for (std::size_t a = 0; a < algorithms.size(); ++a) {
    Table table(lab, fmt::format("table{}", a + 1),
                fmt::format("Table {}: {}, 1B 60 % distinct, k arrays\nPercent.", a + 1, algorithms[a]),
                {"rate", "k=1", "k=2", "k=3", "k=4", "k=5"});
    for (std::size_t size = 0; size < std::size(kSizes); ++size)
      for (const auto& [rate, of] : {std::pair{"FPR", &Reading::false_positives}, {"FNR", &Reading::false_negatives}}) {
        std::vector<double> values;
        for (std::uint64_t k = 0; k < kMostArrays; ++k)
          values.push_back(courses[size * kMostArrays + k].last(algorithms[a]).*of);
        table.numbers(fmt::format("{:g} MB {}", kSizes[size], rate), values);
      }
  }
}

}  // namespace

void run(const Experiment& lab) {
  // Who names rows wants only those.
  if (std::getenv("P1_ROWS") == nullptr) array_tables(lab);
  stream_tables(lab);
}

}  // namespace nodup::lab
